import { existsSync } from 'node:fs';

/** What the program's own threads run that take chunks of an import: threads run JavaScript alone. */
export const builtChunkThread = built('chunk-thread-main.js');

/** What the program's own threads run that derive entries again. */
export const builtRederivingThread = built('rederiving-thread-main.js');

function built(file: string): URL {
  const script = new URL(`../../dist/src/${file}`, import.meta.url);
  if (!existsSync(script)) throw new Error(`expected ${script.href}: run \`npm run build\` first`);
  return script;
}

/** A thread that does something else with what it is given. */
export function scripted(javascript: string): URL {
  const script = `import { parentPort } from 'node:worker_threads'; parentPort.on('message', (job) => { ${javascript} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}
