/** The used part of the WebAssembly JavaScript Interface, which TypeScript declares only for browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    readonly [Symbol.toStringTag]: string;
  }
  class Memory {
    /** @param of `initial` in pages of 64 KiB */
    constructor(of: { initial: number });
    readonly buffer: ArrayBuffer;
  }
}
