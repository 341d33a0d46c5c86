import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtModule } from '../built-module.js';

const built = await builtModule('src/core/parquet/wasm-module.ts');

/** Keeps the SHA-256 of what is compiled from now on in `compiled`. */
const prelude = `
  import { createHash } from 'node:crypto';
  import { Worker, parentPort } from 'node:worker_threads';
  const compiled = [];
  WebAssembly.Module = new Proxy(WebAssembly.Module, {
    construct(target, [bytes]) {
      compiled.push(createHash('sha256').update(bytes).digest('hex'));
      return new target(bytes);
    },
  });
  const { wasmModule } = await import(${JSON.stringify(built)});
  const isModule = wasmModule() instanceof WebAssembly.Module;`;

test('a process compiles the encoder of the package once, and its threads come with it', async () => {
  const thread = `${prelude} parentPort.postMessage({ isModule, compiled });`;
  const script = `${prelude}
    wasmModule();
    new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(thread)}`)})).on('message', (thread) => {
      console.log(JSON.stringify({ isModule, compiled, thread }));
    });`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const bytes = readFileSync(createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm_bg.wasm'));
  expect(JSON.parse(stdout)).toEqual({
    isModule: true,
    compiled: [createHash('sha256').update(bytes).digest('hex')],
    thread: { isModule: true, compiled: [] },
  });
});
