import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changes } from '../../../src/app/changes/changes.js';
import type { ChangesQuery } from '../../../src/app/changes/read-changes.js';
import { Kept } from '../../core/text/streams.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { open } from '../../app/maintenance/small-lake.js';
import { loaded, ownClock, shipmentsFrom } from './custom-run.js';
import { parcelServer, shipmentAt, shipmentsOf } from './parcel-server.js';

test('changes of the table of a pipeline of one’s own are the answers that came and went', async () => {
  const server = await parcelServer(shipmentsOf('2025-01-20T00:00:00Z', 6, 4));
  const own = shipmentsFrom(server);
  const folder = await temporaryFolder();
  const lake = join(folder, 'lake');
  const file = join(folder, 'changes.ndjson');
  /** The raw shipments of a change since a version, and what to go on from. */
  const changed = async (since: ChangesQuery['since'], exclude: readonly string[] = []) => {
    const context = {
      clock: ownClock(),
      signal: new AbortController().signal,
      emit: () => undefined,
      output: new Kept(),
    };
    const options = { lake, since, tables: ['shipments'], account: undefined, exclude, format: undefined, file };
    const { summary } = await changes(options, context);
    const rows = (await readFile(file, 'utf8')).trimEnd().split('\n').slice(0, -1);
    const parsed = rows.map((row) => JSON.parse(row) as Record<'_table' | '_change_type' | 'raw', string>);
    expect(new Set(parsed.map(({ _table }) => _table))).toEqual(new Set(['shipments']));
    const of = (type: string) =>
      parsed
        .filter(({ _change_type }) => _change_type === type)
        .map(({ raw }) => raw)
        .toSorted();
    expect(summary.tables).toEqual({ shipments: { inserted: of('insert').length, deleted: of('delete').length } });
    return { came: of('insert'), went: of('delete'), next: summary.catalog };
  };
  const jsonOf = (shipments: readonly { json: string }[]) => shipments.map(({ json }) => json).toSorted();

  await loaded(own, { lake, from: '2025-01-20', to: '2025-01-24' });
  await (await open(lake, ownClock())).setRetention(1_000_000);
  const first = server.shipments.slice(0, 4 * 4);
  const all = await changed(undefined);
  expect([all.came, all.went]).toEqual([jsonOf(first), []]);

  // Of the window that is read again one is another one, and the last is gone: the others keep their places. Two days come.
  const [other, gone] = [first[1], first.at(-1)];
  if (other === undefined || gone === undefined) throw new Error('no shipments');
  const replaced = shipmentAt(900, other.shippedAt);
  server.shipments = server.shipments.flatMap((one) => (one === other ? [replaced] : one === gone ? [] : [one]));
  const read = await loaded(own, { lake, refresh: true, from: '2025-01-20', to: '2025-01-24' });
  expect(read.printed).toContain('Changed since it was read last, shipments: 1 appeared, 2 vanished\n');
  expect(read.printed).not.toMatch(/and \d+ more/);
  expect(read.summary).toMatchObject({ changes: { shipments: { appeared: 1, vanished: 2, differ: 0, grown: 0 } } });
  await loaded(own, { lake, from: '2025-01-24', to: '2025-01-26' });
  const later = await changed(all.next);
  expect(later.went).toEqual(jsonOf([other, gone]));
  expect(later.came).toEqual(
    jsonOf([replaced, ...server.shipments.filter(({ shippedAt }) => shippedAt >= '2025-01-24')]),
  );

  // Those behind a record that is gone have another position.
  const [newest] = server.shipments.splice(0, 1);
  if (newest === undefined) throw new Error('no shipment');
  await loaded(own, { lake, refresh: true, from: '2025-01-20', to: '2025-01-24' });
  const moved = await changed(later.next);
  expect(moved.went.length).toBeGreaterThan(1);
  expect(moved.came.length).toBe(moved.went.length - 1);
  const placeless = await changed(later.next, ['position', 'window_start', 'window_end']);
  expect([placeless.went, placeless.came]).toEqual([jsonOf([newest]), []]);
});
