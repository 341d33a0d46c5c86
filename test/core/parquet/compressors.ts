import { decompress, init } from '@bokuweb/zstd-wasm';

await init();

/** For hyparquet, which brings no zstd of its own. Frames that are written as a stream don't say how long their content is. */
export const compressors = {
  ZSTD: (frame: Uint8Array, length: number): Uint8Array => decompress(Buffer.from(frame), { defaultHeapSize: length }),
};
