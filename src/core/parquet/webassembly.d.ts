/** The used part of the WebAssembly JavaScript Interface, which TypeScript declares only for browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    readonly [Symbol.toStringTag]: string;
  }
  type Import = (given: unknown) => unknown;
  type Imports = Readonly<Record<string, Readonly<Record<string, Import>>>>;
  let Instance: new (module: Module, imports: Imports) => object;
  class Memory {
    /** @param of `initial` in pages of 64 KiB */
    constructor(of: { initial: number });
    readonly buffer: ArrayBuffer;
  }
}
