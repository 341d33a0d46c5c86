import { succeeded } from '../../app/ended.js';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forget } from '../../../src/app/forget/forget.js';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { rebuild } from '../../../src/app/maintenance/rebuild-lake.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import type { LinesDefinition, PipelineDefinition } from '../../../src/sources/custom/definition.js';
import { fileHashes, temporaryFolder } from '../../app/lake-run.js';
import { verified } from '../../app/verify/verified.js';
import { loaded, ownClock, rowOf, shipmentsFrom } from './custom-run.js';
import { parcelServer, shipmentAt, shipmentsOf, type ParcelServer } from './parcel-server.js';

const perDay = 8;
const clock = ownClock();
const isWhole = { code: 0, verdict: 'whole', problems: [] };

/** One line for each parcel of a shipment, of which those of the service have one to three. */
const lines: LinesDefinition = {
  rows: (shipment) =>
    shipment.list('parcels').map((_, number) => ({ shipment_id: shipment.at('id'), parcel: BigInt(number) })),
  table: {
    name: 'parcels',
    about: 'One row per parcel.',
    columns: { shipment_id: { type: 'varchar' }, parcel: { type: 'bigint' } },
    sort: ['shipment_id', 'parcel'],
  },
};

function context() {
  const ignored = (): void => undefined;
  const quiet = { emit: ignored };
  return { clock, signal: new AbortController().signal, confirm: undefined, ...quiet };
}

const fortnight = { from: '2025-01-20', to: '2025-02-03' };

async function loadedLines(more: Partial<PipelineDefinition> = { lines }) {
  const lake = await temporaryFolder();
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, perDay));
  const own = shipmentsFrom(server, more);
  for (const from of ['2025-01-27', '2025-01-20']) await loaded(own, { lake, from, to: '2025-02-03' });
  return { lake, server, own };
}

/** How many shipments of a range there are, and how many parcels. */
function countsOf({ shipments }: ParcelServer, from = fortnight.from, to = fortnight.to) {
  const within = shipments.filter(({ shippedAt }) => shippedAt >= from && shippedAt < to);
  const parcels = within.reduce(
    (sum, { json }) => sum + (/"parcels":\[(.*?)\]/.exec(json)?.[1] ?? '').split(',').length,
    0,
  );
  return { shipments: BigInt(within.length), parcels: BigInt(parcels), lost: 0n };
}

/** What the lake has of both, and how many parcels have no shipment of their window. */
const counted =
  'SELECT (SELECT count(*) FROM shipments) AS shipments, (SELECT count(*) FROM parcels) AS parcels, ' +
  '(SELECT count(*) FROM parcels ANTI JOIN shipments USING (shipment_id, window_start, month)) AS lost';

describe('lines of records', () => {
  test('come with their records, and stay with them through compact, refresh and forget', async () => {
    const { lake, server, own } = await loadedLines();
    expect(await rowOf(lake, counted)).toEqual(countsOf(server));
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);

    await compact({ lake, pipelines: ['shipments'], account: undefined }, context());
    const january = [...(await fileHashes(lake)).keys()].filter((path) => path.includes('month=2025-01'));
    expect(january.map((path) => path.split('/')[0]).toSorted()).toEqual(['parcels', 'shipments']);
    expect(await rowOf(lake, counted)).toEqual(countsOf(server));
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);

    const { shipments, parcels } = countsOf(server);
    server.shipments = [...server.shipments, shipmentAt(5000, '2025-01-24T12:00:00.000Z')];
    const read = await loaded(own, { lake, refresh: true, from: '2025-01-23', to: '2025-01-24' });
    const more = countsOf(server).shipments - shipments + countsOf(server).parcels - parcels;
    expect(read.summary).toMatchObject({ changes: { shipments: { appeared: Number(more), vanished: 0 } } });
    expect(await rowOf(lake, counted)).toEqual(countsOf(server));
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
    const held = await fileHashes(lake);
    await loaded(own, { lake, refresh: true, ...fortnight });
    expect(await fileHashes(lake)).toEqual(held);

    await compact({ lake, pipelines: [], account: undefined }, context());
    await forget({ lake, account: 'depot', before: '2025-01-29', yes: true }, context());
    expect(await rowOf(lake, counted)).toEqual(countsOf(server, '2025-01-27'));
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
    await forget({ lake, account: 'depot', before: undefined, yes: true }, context());
    expect(await rowOf(lake, counted)).toEqual({ shipments: 0n, parcels: 0n, lost: 0n });
  });

  test('a file of theirs that is lost is found, and rebuilt or read again', async () => {
    const { lake, server, own } = await loadedLines();
    const lose = async () => {
      const [lost = ''] = [...(await fileHashes(lake)).keys()].filter((path) => path.startsWith('parcels/'));
      await rm(join(lake, lost));
      const { problems } = await verified({ root: lake, clock });
      expect(problems).toMatchObject([{ check: 'file-bytes', table: 'parcels', file: lost }]);
    };
    await lose();
    await loaded(own, { lake, refresh: true, ...fortnight });
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
    expect(await rowOf(lake, counted)).toEqual(countsOf(server));
    await lose();
    server.requests.length = 0;
    await rebuild({ lake, pipelines: ['shipments'], account: undefined, customPipelines: [own] }, context());
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
    expect(await rowOf(lake, counted)).toEqual(countsOf(server));
    expect(server.requests).toEqual([]);
  });

  test('are not derived again without the definition, which rebuild says', async () => {
    const { lake } = await loadedLines();
    const all = { lake, pipelines: [], account: undefined };
    await expect(succeeded(rebuild({ ...all, pipelines: ['shipments'] }, context()))).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(
        /^expected the definition of shipments to derive .*; add --pipelines FOLDER$/,
      ) as string,
    });
    const emitted: RunEvent[] = [];
    await expect(succeeded(rebuild({ ...all, pipelines: ['returns'] }, context()))).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`got "returns"; ${lake} has no table of it`) as unknown,
    });
    await rebuild(all, { ...context(), emit: (event) => emitted.push(event) });
    expect(emitted).toContainEqual({
      event: 'message',
      message: 'shipments: not derived again, because its definition is missing; add --pipelines FOLDER',
    });
  });

  test('cannot be added to records that were loaded without, nor be left out', async () => {
    const { lake, server, own } = await loadedLines();
    const without = shipmentsFrom(server);
    await expect(loaded(without, { lake, ...fortnight })).rejects.toThrow('lines: expected the table parcels');
    const other = await loadedLines({});
    await expect(loaded(own, { lake: other.lake, ...fortnight })).rejects.toThrow('lines: expected no lines');
  });

  test('one that does not fit is null and counted, and records without a row have none', async () => {
    const odd = shipmentsFrom(await parcelServer(shipmentsOf('2025-01-20T00:00:00Z', 1, 4)), {
      rows: (shipment) => (shipment.at('id')?.text === 'S-000001' ? [] : { shipment_id: shipment.at('id') }),
      lines: { ...lines, rows: (shipment) => [{ shipment_id: shipment.at('id'), parcel: 'many' }] },
    });
    const lake = await temporaryFolder();
    const { printed } = await loaded(odd, { lake, ...fortnight });
    expect(printed).toContain('3 values of an unexpected type (null in their column, complete in raw): parcels.parcel');
    expect(await rowOf(lake, counted)).toEqual({ shipments: 3n, parcels: 3n, lost: 0n });
  });
});

describe('columns that are added to a definition', () => {
  const { table } = shipmentsFrom({ url: 'http://127.0.0.1:9' }).loaded.definition;
  const widened = (server: ParcelServer, rows?: PipelineDefinition['rows']) => {
    const { definition } = shipmentsFrom(server).loaded;
    const columns = { service_level: { type: 'varchar' as const }, ...table.columns };
    return shipmentsFrom(server, {
      table: { ...table, columns },
      rows:
        rows ??
        ((shipment) =>
          Object.assign({}, definition.rows(shipment), { service_level: shipment.at('carrier', 'service') })),
    });
  };
  const levels = 'SELECT count(*) AS n, count(service_level) AS levels, count(carrier) AS carriers FROM shipments';

  test('are null in what was loaded before, filled in what is loaded then, and derived again by rebuild', async () => {
    const { lake, server } = await loadedLines({});
    const own = widened(server);
    await loaded(own, { lake, from: '2025-02-03', to: '2025-02-04' });
    const all = BigInt(15 * perDay);
    expect(await rowOf(lake, levels)).toMatchObject({ n: all, carriers: BigInt((15 * perDay * 2) / 3) });
    const before = await rowOf(lake, `${levels} WHERE service_level IS NOT NULL`);
    expect(Number(before?.['n'])).toBeLessThanOrEqual(perDay);
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);

    server.requests.length = 0;
    await compact({ lake, pipelines: [], account: undefined }, context());
    const again = { lake, pipelines: ['shipments'], account: undefined, customPipelines: [own] };
    await rebuild(again, context());
    expect(
      await rowOf(lake, `${levels} WHERE (service_level = 'std') = (carrier IS NOT NULL) OR carrier IS NULL`),
    ).toEqual({
      n: all,
      levels: BigInt((15 * perDay * 2) / 3),
      carriers: BigInt((15 * perDay * 2) / 3),
    });
    expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
    expect(server.requests).toEqual([]);
    const held = await fileHashes(lake);
    await rebuild(again, context());
    expect(await fileHashes(lake)).toEqual(held);

    const narrow = shipmentsFrom(server);
    await expect(loaded(narrow, { lake, ...fortnight })).rejects.toThrow(
      'expected the column service_level as VARCHAR, got none',
    );
  });

  test('a definition that makes other numbers of rows changes nothing', async () => {
    const { lake, server } = await loadedLines({});
    const held = await fileHashes(lake);
    const twice = widened(server, (shipment) => [
      { shipment_id: shipment.at('id') },
      { shipment_id: shipment.at('id') },
    ]);
    const again = { lake, pipelines: ['shipments'], account: undefined, customPipelines: [twice] };
    await expect(rebuild(again, context())).rejects.toThrow(
      /rows: expected as many rows of a record as the lake has, got 2/,
    );
    expect(await fileHashes(lake)).toEqual(held);
  });
});
