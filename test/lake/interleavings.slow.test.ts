import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { actors, before, interleave, rivals } from './interleaving.js';
import { truthOf } from './lake-truth.js';

test('processes on one lake, in any order of their steps, never lose, double or dangle a file', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), before, actors, interleave), { numRuns: 300 });
});

test('nor does a sweep delete what a swap took out and a late merge names by now', async () => {
  // One that a vacuum tombstoned going by an old version of the main table.
  const found = { seed: 2131697447, path: '5531', numRuns: 1 };
  await fc.assert(fc.asyncProperty(fc.scheduler(), before, actors, interleave), found);
});

test('nor do three that read the same window at once', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), fc.constant([]), rivals, interleave), { numRuns: 300 });
});

test('what the tests go by sees what is wrong with a lake', () => {
  const log = (table: string, ...actions: object[]) =>
    [
      `${table}/_delta_log/00000000000000000000.json`,
      Buffer.from(actions.map((of) => JSON.stringify(of)).join('\n')),
    ] as const;
  const add = (path: string, tags: Record<string, string>) => ({ add: { path, tags } });
  const file = 'account=a/month=2025-06/x.parquet';
  const units = JSON.stringify(['window/2025-06-01/2025-06-03']);
  const txn = (window: string) => ({ txn: { appId: `ledgerlake/dates/a/window/${window}` } });
  const bad = new Map([
    log(
      'main',
      add(file, { derived: '["derived/y.parquet"]', units, sha256: 'no' }),
      add(file.replace('x', 'z'), { derived: '[]', units, sha256: 'no' }),
      txn('2025-06-01/2025-06-03'),
      txn('2025-06-02/2025-06-04'),
    ),
    [`main/${file}`, Buffer.from('other bytes')] as const,
  ]);
  expect(truthOf(bad).faults).toEqual([
    `main/${file} has other bytes`,
    `main/${file.replace('x', 'z')} is live and isn't there`,
    "derived/y.parquet is named and isn't there",
    'window/2025-06-01/2025-06-03 is in two files of main/account=a/month=2025-06',
    'main: windows of ledgerlake/dates/a/ overlap',
  ]);
});
