import * as zlib from 'node:zlib';

/** Compresses bytes to a zstd frame. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/**
 * Decompresses a zstd frame; throws an Error where it is damaged. `size`: bytes of its content, where the caller knows it;
 * without it the content of another implementation's frame may be too large for WebAssembly.
 */
export type Decompress = (frame: Uint8Array, size?: number) => Uint8Array;

export interface Zstd {
  readonly compress: Compress;
  readonly decompress: Decompress;
  /** Whether it is faster than parquet-wasm's own. */
  readonly isFast: boolean;
}

/** Measured (docs/performance.md): higher levels make files 2 % smaller and take up to twice as long. */
const level = 1;

/**
 * The zstd implementation of the process: Node's from 22.15 on, else a native addon, else WebAssembly where the addon
 * isn't installed or has no binary for the platform. Loaded when the first file is written or read.
 */
export function zstd(): Promise<Zstd> {
  return (loaded ??= nodeZstd() ?? addon().catch(webAssembly));
}

let loaded: Promise<Zstd> | undefined;

function nodeZstd(): Promise<Zstd> | undefined {
  const functions: Readonly<Record<string, unknown>> = { ...zlib };
  const { zstdCompressSync: compress, zstdDecompressSync: decompress } = functions;
  const constants: Readonly<Record<string, number>> = { ...zlib.constants };
  const name = constants['ZSTD_c_compressionLevel'];
  if (typeof compress !== 'function' || typeof decompress !== 'function' || name === undefined) return undefined;
  const options = { params: { [name]: level } };
  return Promise.resolve({
    compress: (bytes) => (compress as (bytes: Uint8Array, given: typeof options) => Buffer)(bytes, options),
    decompress: (frame) => (decompress as (frame: Uint8Array) => Buffer)(frame),
    isFast: true,
  });
}

async function addon(): Promise<Zstd> {
  const { Decoder, Encoder } = await import('@toondepauw/node-zstd');
  const encoder = new Encoder(level);
  const decoder = new Decoder();
  return {
    compress: (bytes) => encoder.encodeSync(asBuffer(bytes)),
    // A copy: the garbage collector doesn't see the memory of an addon's buffers, and would free them late.
    decompress: (frame) => new Uint8Array(decoder.decodeSync(asBuffer(frame))),
    isFast: true,
  };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Takes twice as long as the others. */
async function webAssembly(): Promise<Zstd> {
  const { compress, decompress, init } = await import('@bokuweb/zstd-wasm');
  await init();
  return {
    compress: (bytes) => compress(bytes, level),
    // Frames of the addon don't have the size of their content.
    decompress: (frame, size) =>
      decompress(asBuffer(frame), size === undefined ? undefined : { defaultHeapSize: size }),
    isFast: false,
  };
}
