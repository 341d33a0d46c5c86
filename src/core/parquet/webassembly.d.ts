/** What is used of the WebAssembly JavaScript Interface, which TypeScript has among the types of browsers alone. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    readonly [Symbol.toStringTag]: string;
  }
  class Memory {
    /** @param of pages of 64 KiB */
    constructor(of: { initial: number });
    readonly buffer: ArrayBuffer;
  }
}
