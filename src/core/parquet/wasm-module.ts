import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** The key of the module in the environment data of threads. */
const key = 'ledgerlake: parquet-wasm';

/** The module of parquet-wasm, compiled once for all threads of a process. */
export function wasmModule(): WebAssembly.Module {
  const known: unknown = getEnvironmentData(key);
  if (known instanceof WebAssembly.Module) return known;
  const compiled = new WebAssembly.Module(temporaryBytes(modulePath()));
  // Threads that start later inherit it.
  setEnvironmentData(key, compiled);
  return compiled;
}

/** A module whose memory never exceeds `mostBytes`: what needs more ends in a trap. It is compiled anew by each call. */
export function limitedWasmModule(mostBytes: number): WebAssembly.Module {
  return new WebAssembly.Module(withMemoryLimit(temporaryBytes(modulePath()), Math.floor(mostBytes / wasmPage)));
}

function modulePath(): string {
  return createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm_bg.wasm');
}

/** The number of the section with the limits of the memory, and the flag of limits that have a maximum (WebAssembly, "Binary Format"). */
const memorySection = 5;
const hasMaximum = 1;

/**
 * A module with another maximum in its memory section: one memory with its least and greatest number of pages. It replaces the
 * former maximum, and a `mostPages` below the minimum is raised to it.
 */
function withMemoryLimit(bytes: Uint8Array, mostPages: number): Uint8Array<ArrayBuffer> {
  // Behind the magic number and the version each section has its number and its size.
  for (let at = 8; at < bytes.length;) {
    const size = leb128(bytes, at + 1);
    if (bytes[at] === memorySection) {
      const minimum = leb128(bytes, size.end + 2);
      const limits = [hasMaximum, ...leb128Bytes(minimum.value), ...leb128Bytes(Math.max(minimum.value, mostPages))];
      const section = [memorySection, ...leb128Bytes(limits.length + 1), 1, ...limits];
      return new Uint8Array(
        Buffer.concat([bytes.subarray(0, at), Uint8Array.from(section), bytes.subarray(size.end + size.value)]),
      );
    }
    at = size.end + size.value;
  }
  throw new Error('expected a WebAssembly module with a memory, got none');
}

function leb128(bytes: Uint8Array, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let at = from;
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[at++] ?? 0;
    value += (byte & 127) * factor;
    if (byte < 128) return { value, end: at };
  }
}

function leb128Bytes(value: number): readonly number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb128Bytes(value >>> 7)];
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
