import { existsSync } from 'node:fs';

/** What the program's own thread runs: threads run JavaScript alone. */
export const builtThread = new URL('../../../dist/src/core/parquet/thread-main.js', import.meta.url);
if (!existsSync(builtThread)) throw new Error(`expected ${builtThread.href}: run \`npm run build\` first`);

/** A thread that does something else with what it is given. */
export function scripted(javascript: string): URL {
  const script = `import { parentPort } from 'node:worker_threads'; parentPort.on('message', (job) => { ${javascript} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}
