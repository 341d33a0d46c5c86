import { expect, test } from 'vitest';
import { openStore } from '../../../src/lake/store/open-store.js';
import { Lake } from '../../../src/lake/lake.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { clockAt, temporaryFolder } from '../lake-run.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from './verified.js';

const clock = clockAt('2025-03-20T00:00:00Z');
const fee = { list: 'ServiceFeeEventList', json: '{"FeeReason":"subscription"}' };

/** A lake with an imported shipment of 1 and 3 March, and a fee between them. */
async function importedLake() {
  const lake = { root: await temporaryFolder(), clock };
  const items = [1, 3].map((day) => shipment(`2025-03-0${day}T10:00:00Z`, `111-${day}`));
  await imported(lake, [await fileOf([eventsBody([...items, fee])])]);
  return lake;
}

test.each([
  ['2025-03-01T10:00:00.000Z', '2025-03-01T11:00:00.000Z', ['1 imported row of loaded windows']],
  ['2025-03-01T11:00:00.000Z', '2025-03-03T09:00:00.000Z', []],
  [
    '2025-03-01T00:00:00.000Z',
    '2025-03-04T00:00:00.000Z',
    ['2 imported rows of loaded windows', '1 imported row of loaded windows'],
  ],
])('imported rows that a window from %s to %s has, too, are found', async (start, end, expected) => {
  const given = await importedLake();
  expect(found(await verified(given))).toEqual([]);
  const lake = await Lake.open(openStore(given.root), tables, clock);
  const window = { start: Date.parse(start), end: Date.parse(end) };
  const load = { account: 'demo', pipeline: 'financial-events', key: `window/${start}/${end}`, window };
  await lake.commitChange('WRITE', () => ({
    keys: { set: [{ ...load, readAt: clock.now(), since: clock.now(), origin: 'api' }], delete: [] },
    tables: { events: {} },
  }));
  const { problems } = await verified(given);
  const imports = problems.flatMap(({ problem }) => /\d+ imported rows? of loaded windows/.exec(problem) ?? []);
  expect(imports.toSorted()).toEqual(expected.toSorted());
});
