import { expect, test } from 'vitest';
import { dayMs } from '../../../src/core/windows.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, database, fileHashes, ran, serving, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import { found, verified } from '../verify/verified.js';
import { fetchedBodies, fileOf, imported } from './imported.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const account = 'shop';
const first = Date.parse('2025-04-24T00:00:00Z');
const days = 12;

const isoDay = (day: number) => new Date(first + day * dayMs).toISOString();

async function backfilled(root: string, endpoint: string, from: number, to: number): Promise<void> {
  const range = { from: isoDay(from), to: isoDay(to) };
  await ran({ pipelines: ['financial-events'], lake: root, account, endpoint, ...range }, { clock });
}

/** How often a lake has each event, by content, with the sum of its amounts. */
async function contentsOf(root: string): Promise<readonly string[]> {
  const opened = await database(root, clock);
  const rows = await opened.rows(
    'SELECT content_hash, count(DISTINCT event_id) AS times, sum(amount) AS amount FROM events ' +
      'LEFT JOIN entries USING (event_id) GROUP BY content_hash ORDER BY content_hash',
  );
  return rows.map(({ content_hash, times, amount }) => `${String(content_hash)} ${String(times)} ${String(amount)}`);
}

/** Three days saved each night, night by night: pages of 100, as the service cuts them. */
async function nightlyFiles(url: string): Promise<string[]> {
  const files: string[] = [];
  for (let night = 0; night + 3 <= days; night++) {
    const range = { PostedAfter: isoDay(night), PostedBefore: isoDay(night + 3) };
    files.push(await fileOf(await fetchedBodies(url, '/finances/v0/financialEvents', range)));
  }
  return files;
}

test.each([
  ['in one command', [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]], []],
  ['each alone, the last first', [[9], [8], [7], [6], [5], [4], [3], [2], [1], [0]], []],
  [
    'with loads of whole days and parts of days between',
    [
      [4, 2, 9],
      [0, 1, 7],
      [3, 5, 6, 8],
    ],
    [
      [2, 4.5],
      [8.25, 11],
    ],
  ],
] as const)('files of a seller that overlap bring what the seller has: %s', async (_, batches, loads) => {
  const url = await serving({ backend: createSeller({ seed: 11, events: 9000, profile: 'plausible' }, clock), clock });
  const truth = await temporaryFolder();
  await backfilled(truth, url, 0, days);
  const expected = await contentsOf(truth);
  const files = await nightlyFiles(url);
  const lake = { root: await temporaryFolder(), clock };
  for (const [at, batch] of batches.entries()) {
    const paths = batch.map((night) => files[night] ?? '');
    expect((await imported(lake, paths, { account })).failure).toBeUndefined();
    const load = loads[at];
    if (load !== undefined) await backfilled(lake.root, url, load[0], load[1]);
  }
  expect(await contentsOf(lake.root)).toEqual(expected);
  expect(found(await verified(lake))).toEqual([]);
  await compacted({ lake: lake.root, account: undefined }, { clock });
  const before = await fileHashes(lake.root);
  const again = await imported(lake, files, { account });
  expect(again.summary.pipelines['financial-events']).toMatchObject({ slices: 0, files: 0, events: 0 });
  expect(await fileHashes(lake.root)).toEqual(before);
  await backfilled(lake.root, url, 0, days);
  expect(await contentsOf(lake.root)).toEqual(expected);
  expect(found(await verified(lake))).toEqual([]);
});
