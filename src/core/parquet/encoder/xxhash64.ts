/** XXH64 with seed 0 (xxHash specification), as an unsigned 64-bit integer. */
export type Hash64 = (bytes: Uint8Array) => bigint;

/** Loaded when the first file is written. */
export function xxHash64(): Promise<Hash64> {
  return (loaded ??= load());
}

let loaded: Promise<Hash64> | undefined;

async function load(): Promise<Hash64> {
  const { default: xxhash } = await import('xxhash-wasm');
  const hashes = await xxhash();
  return (bytes) => hashes.h64Raw(bytes);
}
