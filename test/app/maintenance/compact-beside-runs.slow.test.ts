import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/lake/store/open-store.js';
import { acquireLease } from '../../../src/lake/leases.js';
import { interruptedStore } from './failing-store.js';
import { compacted, contentsOf, copied, dataFiles, rebuilt, steppingClock } from './kept-lake.js';
import { load, open, shipment, shipments, smallLake, within } from './small-lake.js';

const clock = steppingClock();
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock);
});
afterAll(() => small.remove());

/** Rows of each table as its own log alone has them. */
async function rowsByLog(lake: string): Promise<Record<string, number>> {
  const rows: Record<string, number> = {};
  const { tables, snapshot } = await open(lake, clock);
  for (const { name } of tables) {
    rows[name] = [...snapshot.files(name)].reduce((sum, { tags }) => sum + Number(tags?.['rows']), 0);
  }
  return rows;
}

describe('a compaction beside other runs', () => {
  const write = (path: string) => path.startsWith('events/account=');
  const commit = (path: string) => path.startsWith('_catalog/');
  const moments = [
    { where: 'before its files', when: write },
    { where: 'before its commit', when: commit },
  ];

  test.each(moments)('drops its merge where another one was first $where', async ({ when }) => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    const before = await rowsByLog(lake);
    const store = interruptedStore(openStore(lake), when, async () => {
      await compacted({ lake }, { clock });
    });
    await compacted({ lake, store }, { clock });
    expect(await contents.differences()).toEqual({});
    expect(await rowsByLog(lake)).toEqual(before);
    await compacted({ lake }, { clock });
    expect(await dataFiles(lake, 'events')).toHaveLength(1);
    expect(await dataFiles(lake, 'entries')).toHaveLength(1);
  });

  test.each(moments)('keeps what a refresh brings $where', async ({ when }) => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    const added = shipment(within(2, 7), 'order-late', '7.77');
    const store = interruptedStore(openStore(lake), when, async () => {
      await load(await open(lake, clock), 2, [...shipments(2), added], { refresh: true });
    });
    await compacted({ lake, store }, { clock });
    expect(await contents.differences()).toEqual({ events: 1, entries: 2 });
    expect(await contents.rows("SELECT raw FROM events WHERE amazon_order_id = 'order-late'")).toEqual([
      { raw: added },
    ]);
    expect(await rowsByLog(lake)).toMatchObject({ events: 10, entries: 20 });
    expect(await dataFiles(lake, 'entries')).toHaveLength(1);
    const opened = await open(lake, clock);
    const files = new Set(opened.files().map((file) => file.lakePath));
    for (const add of opened.snapshot.files('entries')) expect(files).toContain(add.main);
  });

  test('goes on beside refreshes of every window', async () => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    const before = await rowsByLog(lake);
    const refreshes = async () => {
      const opened = await open(lake, clock);
      // A run without one counts as dead.
      const lease = await acquireLease(opened, clock);
      for (const number of [1, 2, 3, 2, 1]) await load(opened, number, shipments(number), { refresh: true });
      lease.cleared();
      await lease.release();
    };
    await Promise.all([refreshes(), compacted({ lake }, { clock }), rebuilt({ lake }, { clock })]);
    expect(await contents.differences()).toEqual({});
    await compacted({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
    expect(await rowsByLog(lake)).toEqual(before);
    expect(await dataFiles(lake, 'events')).toHaveLength(1);
    expect(await dataFiles(lake, 'entries')).toHaveLength(1);
  });
});
