import * as zlib from 'node:zlib';

/** Makes a zstd frame of bytes. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/** By measurement (docs/performance.md): the next levels make files 2 % smaller and take up to twice as long. */
const level = 1;

/**
 * The codec of a process: Node's own from 22.15 on, before that an addon, and WebAssembly where the addon isn't installed or has
 * no binary for the machine. Loaded when a file is written first.
 */
export function zstd(): Promise<Compress> {
  return (loaded ??= ofNode() ?? addon().catch(webAssembly));
}

let loaded: Promise<Compress> | undefined;

function ofNode(): Promise<Compress> | undefined {
  const of: Readonly<Record<string, unknown>> = { ...zlib };
  const compress = of['zstdCompressSync'];
  const constants: Readonly<Record<string, number>> = { ...zlib.constants };
  const name = constants['ZSTD_c_compressionLevel'];
  if (typeof compress !== 'function' || name === undefined) return undefined;
  const options = { params: { [name]: level } };
  return Promise.resolve((bytes) => (compress as (bytes: Uint8Array, given: typeof options) => Buffer)(bytes, options));
}

async function addon(): Promise<Compress> {
  const { Encoder } = await import('@toondepauw/node-zstd');
  const encoder = new Encoder(level);
  return (bytes) => encoder.encodeSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

/** Half as fast as the others. */
async function webAssembly(): Promise<Compress> {
  const { compress, init } = await import('@bokuweb/zstd-wasm');
  await init();
  return (bytes) => compress(bytes, level);
}
