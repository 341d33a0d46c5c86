import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';
import { freePort } from '../../free-port.js';

test.each([[['worker']], [['enqueue']]])(
  '%j without Redis says so in one line, without the password',
  async (words) => {
    const folder = await temporaryFolder();
    const url = `redis://:hunter2@127.0.0.1:${await freePort()}`;
    const { code, out, err } = await builtCommand(words, { folder, environment: { REDIS_URL: url } });
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^ledgerlake: QUEUE_UNREACHABLE: expected Redis or Valkey at redis:\/\/127\.0\.0\.1:\d+, got no connection \(.*ECONNREFUSED.*\n$/,
    );
    expect(err).not.toContain('hunter2');
    expect(await readdir(folder)).toEqual([]);
  },
);

test.each([
  [['worker'], 'expected REDIS_URL or --redis'],
  [['worker', '--redis', 'redis://x', '--concurrency', '0'], 'expected --concurrency to be a whole number from 1'],
  [['worker', '--redis', 'redis://x', '--turn', 'soon'], 'expected --turn to be a duration'],
  [['worker', '--redis', 'redis://x', '--fleet', 'a b'], 'expected --fleet to be 1 to 64 letters'],
  [['enqueue', 'everything'], 'expected `enqueue all`, `enqueue backfill`'],
  [['enqueue', '--redis', 'redis://x', '--sync-at', '25:00-26:00'], 'expected --sync-at to be HH:MM-HH:MM'],
  [['enqueue', 'sync', '--from', '2025-01-01'], 'expected --from and --to with `enqueue backfill` only'],
  [['enqueue', 'backfill', '--from', 'soon'], 'expected --from to be'],
  [['enqueue', 'backfill', 'no-such-shop', '--redis', 'redis://x'], 'expected an account that is configured (demo)'],
])('%j exits with 2', async (words, message) => {
  const { code, out, err } = await builtCommand(words, { folder: await temporaryFolder() });
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(`ledgerlake: USAGE: ${message}`);
  expect(err.trimEnd().split('\n')).toHaveLength(1);
});

/** As if the packages of fleets had been left out of the installation: whoever asks for them fails. */
const withoutPackages = (() => {
  const hook = `export async function resolve(name, context, next) {
    if (name !== 'bullmq' && name !== 'ioredis') return next(name, context);
    throw Object.assign(new Error('left out'), { code: 'ERR_MODULE_NOT_FOUND' });
  }`;
  const data = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  return `--import=${data(`import { register } from 'node:module'; register(${JSON.stringify(data(hook))})`)}`;
})();

test('a single process runs without the packages of a fleet, and a fleet says that they are missing', async () => {
  const folder = await temporaryFolder();
  const environment = { NODE_OPTIONS: withoutPackages, REDIS_URL: 'redis://127.0.0.1:1' };
  const range = ['--from', '2025-05-08', '--to', '2025-05-09'];
  const alone = await builtCommand(['backfill', ...range, '--json'], { folder, environment });
  expect(alone.code, alone.err).toBe(0);
  for (const words of [['worker'], ['enqueue']]) {
    const { code, err } = await builtCommand(words, { folder, environment });
    expect(code).toBe(2);
    expect(err).toMatch(
      /^ledgerlake: USAGE: expected the package ioredis for `enqueue` and `worker`, got none; run npm install --include=optional\n$/,
    );
  }
});
