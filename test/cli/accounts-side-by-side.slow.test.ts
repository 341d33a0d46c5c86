import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { builtCommand } from '../app/built-command.js';
import { serving, temporaryFolder } from '../app/lake-run.js';

/** When the first and the last request of an account arrived. */
interface Times {
  first: number;
  last: number;
}

const names = ['alpine', 'lima', 'oslo', 'tokyo'] as const;

/** A folder with a configuration of four accounts: `lima` can't sign in, the others need two seconds of their quota. */
async function configured(): Promise<{ folder: string; times: Map<string, Times>; requested: () => Promise<void> }> {
  const folder = await temporaryFolder();
  const times = new Map<string, Times>();
  let requested = (): void => undefined;
  const isRequested = new Promise<void>((done) => {
    requested = done;
  });
  const accounts: Record<string, object> = {};
  for (const [seed, name] of names.entries()) {
    const when = (): boolean => {
      const now = performance.now();
      times.set(name, { first: times.get(name)?.first ?? now, last: now });
      if (times.size === 3) requested();
      return false;
    };
    const endpoint = await serving({
      backend: createSeller({ seed, events: 60, days: 90, profile: 'plausible' }, systemClock),
      clock: systemClock,
      quota: { rate: 10, burst: 5 },
      faults: { 'server-error': { when } },
    });
    accounts[name] = name === 'lima' ? { region: 'eu' } : { endpoint };
  }
  await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify({ accounts }));
  return { folder, times, requested: () => isRequested };
}

const quota = ['--rate', '10', '--burst', '5'];

const loads = (times: Map<string, Times>): Times[] =>
  [...times.values()].toSorted((one, other) => one.first - other.first);

test('accounts load side by side, one that fails stops no other, and the results are as in turn', async () => {
  const { folder, times } = await configured();
  const side = await builtCommand(['sync', 'financial-events', '--lake', 'side', ...quota, '--json', '--quiet'], {
    folder,
  });
  const [first, second, third] = loads(times);
  // Each began before any had ended.
  expect(third?.first).toBeLessThan(Math.min(first?.last ?? 0, second?.last ?? 0, third?.last ?? 0));
  expect(side.code).toBe(1);
  const objects = side.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { account: string; status: string; run: string });
  expect(objects.map(({ account, status }) => [account, status])).toEqual([
    ['alpine', 'done'],
    ['lima', 'failed'],
    ['oslo', 'done'],
    ['tokyo', 'done'],
  ]);
  expect(new Set(objects.map(({ run }) => run)).size).toBe(4);

  times.clear();
  const turns = await builtCommand(['sync', 'financial-events', '--lake', 'turns', ...quota, '--parallel', '1'], {
    folder,
  });
  expect(turns.code).toBe(1);
  const inTurn = loads(times);
  for (const [at, { first: begins }] of inTurn.slice(1).entries())
    expect(begins).toBeGreaterThan(inTurn[at]?.last ?? 0);
  expect(turns.out).toMatch(
    /\naccount +result +requests +events +age +time\nalpine +done +\d+ +\d+ +\d+ min.*\nlima +USAGE .*\noslo +done .*\ntokyo +done .*\n\n3 of 4 accounts loaded; not done: lima\n$/,
  );
  // Side by side they are one lake, whole, with the rows that each loads in turn.
  expect((await builtCommand(['verify', '--lake', 'side', '--quiet'], { folder })).code).toBe(0);
  const duckdb = await openDatabase();
  const rows = (lake: string) =>
    `SELECT account, effective_at, raw FROM read_parquet('${folder}/${lake}/events/account=*/month=*/*.parquet', hive_partitioning = true)
      WHERE effective_at < current_timestamp - INTERVAL 1 DAY`;
  const [counts] = await duckdb.rows(
    `SELECT (SELECT count(*) FROM (${rows('side')})) AS n, (SELECT count(*) FROM (${rows('side')} EXCEPT ALL ${rows('turns')})) AS more,
      (SELECT count(*) FROM (${rows('turns')} EXCEPT ALL ${rows('side')})) AS fewer`,
  );
  duckdb.close();
  expect(Number(counts?.['n'])).toBeGreaterThan(100);
  expect([Number(counts?.['more']), Number(counts?.['fewer'])]).toEqual([0, 0]);
});

test('a signal ends all accounts, and each reports it', async () => {
  const { folder, requested } = await configured();
  const words = ['sync', 'financial-events', ...quota, '--json', '--quiet'];
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], { cwd: folder });
  const out = text(child.stdout);
  await requested();
  child.kill('SIGINT');
  const code = await new Promise((ended) => child.once('close', ended));
  expect(code).toBe(1);
  const objects = (await out)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { account: string; error: { code: string } });
  expect(objects.map(({ account, error }) => [account, error.code])).toEqual([
    ['alpine', 'STOPPED'],
    ['lima', 'USAGE'],
    ['oslo', 'STOPPED'],
    ['tokyo', 'STOPPED'],
  ]);
});

test.each(['0', '17'])('--parallel %s is refused', async (given) => {
  const { folder } = await configured();
  const refused = await builtCommand(['sync', '--parallel', given], { folder });
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain(`expected --parallel to be a whole number from 1 to 16, got "${given}"`);
});
