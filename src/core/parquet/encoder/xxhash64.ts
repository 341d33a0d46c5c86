/** XXH64 with the seed 0 (xxHash's specification), as a whole number from 0 to 2^64. */
export type Hash64 = (bytes: Uint8Array) => bigint;

/** Loaded when a file is written first. */
export function xxHash64(): Promise<Hash64> {
  return (loaded ??= load());
}

let loaded: Promise<Hash64> | undefined;

async function load(): Promise<Hash64> {
  const { default: xxhash } = await import('xxhash-wasm');
  const hashes = await xxhash();
  return (bytes) => hashes.h64Raw(bytes);
}
