/**
 * Bytes as a Blob that holds no copy of them. Node keeps a Blob's own bytes where the garbage collector doesn't see how many
 * they are: files that are opened one after the other would fill the memory.
 */
export class BytesBlob extends Blob {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super([]);
    this.#bytes = bytes;
    Object.defineProperty(this, 'size', { value: bytes.length });
  }

  override slice(start = 0, end = this.size): Blob {
    return new BytesBlob(this.#bytes.subarray(start, end));
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(new Uint8Array(this.#bytes).buffer);
  }
}
