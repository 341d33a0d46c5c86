import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { historyOf, refreshed } from '../reconcile/revised-lake.js';
import { found, verified } from '../verify/verified.js';
import { compacted, copied, dataFiles, everyHash, steppingClock } from './kept-lake.js';
import { shipment, shipments, smallLake, window, within } from './small-lake.js';

const clock = steppingClock();
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock);
  for (const number of [2, 3]) {
    const late = shipment(within(number, 300), `order-late-${number}`, '7.77');
    await refreshed(small.lake, new Map([[number, [...shipments(number).slice(1), late]]]), { clock });
  }
});
afterAll(() => small.remove());

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[20] = (bytes[20] ?? 0) ^ 4;
  await writeFile(path, bytes);
}

test.each([
  ['has a flipped bit', flip, 'its SHA-256 is not the one in the log: the file was changed', 'its bytes have changed'],
  ['is missing', (path: string) => rm(path), 'the file is missing', 'it is missing'],
])('a file of the history that %s goes when asked, and nothing else', async (_, harm, finding, reason) => {
  const lake = await copied(small.lake);
  expect((await verified({ root: lake, clock })).code).toBe(0);
  expect(await historyOf(lake, clock)).toHaveLength(4);
  const [loadKey = ''] = window(2).loadKeys;
  const files = await dataFiles(lake, 'event_history');
  const file = files.find((name) => name.includes('window-2-')) ?? '';
  await harm(join(lake, 'event_history', file));
  const broken = await verified({ root: lake, clock });
  expect(broken).toMatchObject({
    code: 1,
    problems: [
      {
        check: 'file-bytes',
        file: `event_history/${file}`,
        slice: loadKey,
        problem:
          `${finding}; restore it from a copy, or give up its rows with ` +
          `\`ledgerlake compact --drop-damaged-history --lake ${lake}\``,
      },
    ],
  });
  // Without the option nobody gives them up.
  await expect(compacted({ lake }, { clock })).rejects.toMatchObject({
    code: 'LAKE_STORE',
    message: expect.stringContaining('`ledgerlake compact --drop-damaged-history`') as string,
  });
  const logged: string[] = [];
  const context = { clock, log: (line: string) => logged.push(line) };
  await compacted({ lake, dropDamagedHistory: true }, context);
  expect(logged).toContain(`removed event_history/${file} (${reason}): 2 rows of the history of ${loadKey} are lost`);
  const whole = await verified({ root: lake, clock });
  expect([found(whole), whole.code]).toEqual([[], 0]);
  expect(await historyOf(lake, clock)).toEqual(['appeared order-late-3', 'vanished order-3-0']);
});

test('where no file is damaged nothing goes', async () => {
  const lake = await copied(small.lake);
  await compacted({ lake }, { clock });
  const before = await everyHash(lake);
  await compacted({ lake, dropDamagedHistory: true }, { clock });
  expect(await everyHash(lake)).toEqual(before);
  expect(await historyOf(lake, clock)).toHaveLength(4);
});
