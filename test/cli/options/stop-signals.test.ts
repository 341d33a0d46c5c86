import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';

/** Makes a process send itself a signal as soon as it takes it: before anything else is loaded. */
function struckBy(signal: string): string {
  const struck = `name === '${signal}' && setImmediate(() => process.kill(process.pid, '${signal}'))`;
  const code = `process.on('newListener', (name) => ${struck})`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

test.each(
  (['SIGTERM', 'SIGINT'] as const).flatMap((signal) =>
    [['--version'], ['backfill', '--help'], ['backfill'], ['serve', '--port', '0'], ['sql'], ['accounts']].map(
      (words) => [signal, words] as const,
    ),
  ),
)('%s at once ends %j with a word, and nothing was begun', async (signal, words) => {
  const folder = await temporaryFolder();
  const environment = { NODE_OPTIONS: struckBy(signal) };
  const { code, out, err } = await builtCommand([...words], { folder, environment });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(new RegExp(`^ledgerlake: STOPPED: stopped by ${signal}; what was committed stays, .*\n$`));
  expect(await readdir(folder)).toEqual([]);
});
