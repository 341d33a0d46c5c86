import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storedRaws } from '../../../src/lake/files/month-files.js';
import { events } from '../../../src/sources/finances/api-v0/event-tables.js';
import { compacted, copied, dataFiles, steppingClock } from './kept-lake.js';
import { open, shipments, smallLake, window } from './small-lake.js';

const clock = steppingClock();

test('stored rows are read from the files of a newer version where another run has replaced those of an older one', async () => {
  const small = await smallLake(clock);
  const lake = await copied(small.lake);
  await small.remove();
  const older = await open(lake, clock);
  const keys = [1, 2, 3].flatMap((number) => window(number).loadKeys);
  const files = (snapshot = older.snapshot) => snapshot.filesOf(events.name, 'shop');
  expect(files()).toHaveLength(3);
  await compacted({ lake }, { clock });
  const raws = await storedRaws(older, events, files, keys);
  expect(raws.toSorted()).toEqual([1, 2, 3].flatMap(shipments).toSorted());
  expect(files()).toHaveLength(1);

  for (const file of await dataFiles(lake, 'events')) await rm(join(lake, 'events', file));
  await expect(storedRaws(older, events, files, keys)).rejects.toMatchObject({
    code: 'LAKE_STORE',
    message: expect.stringContaining('it is missing') as string,
  });
});
