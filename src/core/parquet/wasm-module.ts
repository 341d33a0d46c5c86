import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** The key of the module in the environment data of threads. */
const key = 'ledgerlake: parquet-wasm';

/** The module of parquet-wasm, compiled once for all threads of a process. */
export function wasmModule(): WebAssembly.Module {
  const known: unknown = getEnvironmentData(key);
  if (known instanceof WebAssembly.Module) return known;
  const path = createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm_bg.wasm');
  const compiled = new WebAssembly.Module(temporaryBytes(path));
  // Threads that start later inherit it.
  setEnvironmentData(key, compiled);
  return compiled;
}

const wasmPage = 65_536;

/**
 * A file's bytes for temporary use, in memory that V8 maps and unmaps. After freeing 5 MB the C library would keep as
 * much of the memory freed later.
 */
function temporaryBytes(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const { buffer } = new WebAssembly.Memory({ initial: Math.ceil(size / wasmPage) });
    const bytes = new Uint8Array(buffer, 0, size);
    let filled = 0;
    for (let read = -1; filled < size && read !== 0; filled += read) {
      read = readSync(file, bytes, filled, size - filled, filled);
    }
    return bytes.subarray(0, filled);
  } finally {
    closeSync(file);
  }
}
