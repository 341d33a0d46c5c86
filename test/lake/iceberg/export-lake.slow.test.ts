import { expect, test } from 'vitest';
import { avroFile } from '../../../src/lake/iceberg/avro.js';
import { exportIceberg } from '../../../src/lake/iceberg/export-lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { filesAboutAccount } from '../../../src/lake/upkeep/erasure.js';
import { copied } from '../../app/maintenance/kept-lake.js';
import { open, shipment, smallLake, within } from '../../app/maintenance/small-lake.js';
import { refreshed } from '../../app/reconcile/revised-lake.js';
import { setClock } from '../../app/load/synced.js';
import { watched } from '../memory-store.js';
import { readAvro } from './avro-reader.js';

const noon = '2026-03-15T12:00:00Z';
const dayMs = 86_400_000;

async function aSmallLake(): Promise<string> {
  const small = await smallLake(setClock(noon));
  const lake = await copied(small.lake);
  await small.remove();
  return lake;
}

interface Metadata {
  readonly location: string;
  readonly schemas: readonly {
    readonly fields: readonly { id: number; name: string; type: string; required: boolean }[];
  }[];
  readonly snapshots: readonly {
    readonly 'snapshot-id': number;
    readonly 'manifest-list': string;
    readonly summary: object;
  }[];
  readonly 'current-snapshot-id': number;
}

/** A table's newest metadata, followed to its data files as a reader does. */
async function readTable(store: Store, table: string) {
  const folder = `_iceberg/${table}/metadata`;
  const pathOf = (location: string) => location.slice(`file://${store.address('')}/`.length);
  const version = Buffer.from((await store.read(`${folder}/version-hint.text`)) ?? []).toString();
  const bytes = await store.read(`${folder}/v${version}.metadata.json`);
  const metadata = JSON.parse(Buffer.from(bytes ?? []).toString()) as Metadata;
  const [snapshot] = metadata.snapshots;
  expect(metadata['current-snapshot-id']).toBe(snapshot?.['snapshot-id']);
  const manifests: string[] = [];
  const files: Record<string, unknown>[] = [];
  for (const listed of readAvro((await store.read(pathOf(snapshot?.['manifest-list'] ?? ''))) ?? new Uint8Array())
    .rows) {
    const path = pathOf(String(listed['manifest_path']));
    const manifest = (await store.read(path)) ?? new Uint8Array();
    expect(manifest).toHaveLength(Number(listed['manifest_length']));
    manifests.push(path);
    for (const { data_file: file } of readAvro(manifest).rows) files.push(file as Record<string, unknown>);
  }
  const paths = files.map(({ file_path: path }) => pathOf(String(path))).toSorted();
  return { version: Number(version), metadata, manifests, files, paths };
}

test('numbers, texts, optional values and lists are those of Avro', () => {
  const numbers = [0, -1, 1, 63, 64, -65, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER];
  const bytes = avroFile(
    {
      type: 'record',
      name: 'r',
      fields: [
        { name: 'n', type: 'long', 'field-id': 1 },
        { name: 't', type: ['null', 'string'], 'field-id': 2 },
        { name: 'l', type: { type: 'array', items: 'bytes' }, 'field-id': 3 },
        { name: 'b', type: 'boolean', 'field-id': 4 },
      ],
    },
    { more: 'ä' },
    numbers.map((n) => ({ n, t: n < 0 ? null : `é${n}`, l: n === 0 ? [] : [Buffer.from('x')], b: n > 0 })),
  );
  const { header, rows } = readAvro(bytes);
  expect(header).toMatchObject({ 'avro.codec': 'null', more: 'ä' });
  expect(rows.map(({ n }) => n)).toEqual(numbers);
  expect(rows[1]).toEqual({ n: -1, t: null, l: [Buffer.from('x')], b: false });
  expect(rows[3]).toMatchObject({ t: 'é63' });
  // Avro 1.11, "Binary Encoding": 64 is 80 01.
  expect(Buffer.from(bytes).includes(Buffer.from([0x80, 0x01]))).toBe(true);
  expect(() =>
    avroFile({ type: 'record', name: 'r', fields: [{ name: 'n', type: 'long', 'field-id': 1 }] }, {}, [{}]),
  ).toThrow(/expected long for Avro, got undefined/);
});

test('the metadata name the files that count, with their rows, folders, schema and bounds', async () => {
  const clock = setClock(noon);
  const location = await aSmallLake();
  const lake = await open(location, clock);
  await exportIceberg(lake, clock);
  for (const table of ['events', 'entries']) {
    const { metadata, files, paths } = await readTable(lake.store, table);
    const adds = lake.files().filter((of) => of.table === table);
    expect(paths).toEqual(adds.map((of) => of.lakePath).toSorted());
    expect(files.map(({ record_count: rows }) => String(rows)).toSorted()).toEqual(
      adds.map(({ tags }) => tags?.['rows'] ?? '').toSorted(),
    );
    for (const file of files) {
      expect(file).toMatchObject({ file_format: 'PARQUET', partition: { account: 'shop', month: '2026-01' } });
    }
    const fields = metadata.schemas[0]?.fields ?? [];
    expect(fields.map(({ id }) => id)).toEqual(fields.map((_, at) => at + 1));
    const at = fields.find(({ name }) => name === 'effective_at');
    expect(at).toMatchObject({ type: 'timestamptz' });
    const bound = (side: string) =>
      files
        .map((file) => (file[side] as { key: number; value: Buffer }[]).find(({ key }) => key === at?.id)?.value)
        .map((value) => new Date(Number((value?.readBigInt64LE() ?? 0n) / 1000n)).toISOString())
        .toSorted();
    expect(bound('lower_bounds')[0]).toBe(within(1));
    expect(bound('upper_bounds').at(-1)).toBe(within(3, 120));
  }
  const { metadata } = await readTable(lake.store, 'entries');
  expect(metadata.schemas[0]?.fields.find(({ name }) => name === 'amount')).toMatchObject({ type: 'decimal(18, 6)' });
});

test('an export changes only what has changed, and what it replaces goes a day later', async () => {
  const clock = setClock(noon);
  const location = await aSmallLake();
  const lake = await open(location, clock);
  const { store } = lake;
  expect(await exportIceberg(lake, clock)).toMatchObject({ tables: 2, changed: 2 });
  expect(await exportIceberg(lake, clock)).toEqual({ tables: 2, changed: 0, bytes: 0 });
  const first = await readTable(store, 'events');

  clock.set(clock.now() + 1000);
  await refreshed(location, new Map([[2, [shipment(within(2), 'order-2-0', '20')]]]), { clock });
  expect(await exportIceberg(await open(location, clock), clock)).toMatchObject({ tables: 3, changed: 3 });
  const second = await readTable(store, 'events');
  expect(second.version).toBe(2);
  expect(second.paths).not.toEqual(first.paths);
  for (const path of first.manifests) expect(await store.read(path)).toBeDefined();

  clock.set(clock.now() + dayMs + 1000);
  await refreshed(location, new Map([[2, [shipment(within(2), 'order-2-0', '30')]]]), { clock });
  await exportIceberg(await open(location, clock), clock);
  clock.set(clock.now() + dayMs + 1000);
  await refreshed(location, new Map([[2, [shipment(within(2), 'order-2-0', '40')]]]), { clock });
  await exportIceberg(await open(location, clock), clock);
  for (const path of [...first.manifests, '_iceberg/events/metadata/v1.metadata.json']) {
    expect(await store.read(path), path).toBeUndefined();
  }
  expect((await readTable(store, 'events')).version).toBe(4);
});

test('of two exports at once the one that is later has the newer state, whatever it had read', async () => {
  const clock = setClock(noon);
  const location = await aSmallLake();
  let hasRaced = false;
  const store = openStore(location);
  const slow: Store = {
    ...watched(store, {}),
    create: async (path, bytes) => {
      if (!hasRaced && path.startsWith('_iceberg/events/')) {
        hasRaced = true;
        await refreshed(location, new Map([[2, [shipment(within(2), 'order-2-0', '20')]]]), { clock });
        await exportIceberg(await open(location, clock), clock);
      }
      return store.create(path, bytes);
    },
  };
  await exportIceberg(await open(slow, clock), clock);
  const lake = await open(location, clock);
  const { version, paths } = await readTable(lake.store, 'events');
  expect(hasRaced).toBe(true);
  expect(version).toBe(1);
  expect(paths).toEqual([...lake.snapshot.files('events')].map((file) => file.lakePath).toSorted());
});

test('forget takes all of it away', async () => {
  const clock = setClock(noon);
  const location = await aSmallLake();
  const lake = await open(location, clock);
  await exportIceberg(lake, clock);
  const about = (await filesAboutAccount(lake.store, 'another', new Set())).map(({ path }) => path);
  expect(about.filter((path) => path.startsWith('_iceberg/'))).toHaveLength(8);
});

test('a lake that was copied elsewhere is exported anew, with its own paths', async () => {
  const clock = setClock(noon);
  const location = await aSmallLake();
  await exportIceberg(await open(location, clock), clock);
  const copy = await open(await copied(location), clock);
  expect(await exportIceberg(copy, clock)).toMatchObject({ changed: 2 });
  expect((await readTable(copy.store, 'events')).paths).toHaveLength(3);
});

/** Rewrites the newest metadata of `events` as somebody else might have left it. */
async function tampered(
  store: Store,
  version: string,
  change: (metadata: Record<string, unknown>, state: Record<string, unknown>) => void,
): Promise<void> {
  const folder = '_iceberg/events/metadata';
  const bytes = (await store.read(`${folder}/v1.metadata.json`)) ?? new Uint8Array();
  const metadata = JSON.parse(Buffer.from(bytes).toString()) as { properties: Record<string, string> };
  const state = JSON.parse(metadata.properties['ledgerlake.state'] ?? '{}') as Record<string, unknown>;
  change(metadata, state);
  metadata.properties['ledgerlake.state'] = JSON.stringify(state);
  await store.write(`${folder}/v${version}.metadata.json`, Buffer.from(JSON.stringify(metadata)));
}

test('metadata from somebody else delete nothing, name nothing that is not theirs, and end no export', async () => {
  const clock = setClock(noon);
  const kept = (lake: Awaited<ReturnType<typeof open>>) => lake.files().map((of) => of.lakePath);
  type Fields = Record<string, unknown>;
  const attacks: Readonly<Record<string, (metadata: Fields, state: Fields, victim: string) => void>> = {
    'a data file as retired': (_, state, victim) => {
      state['retired'] = [{ path: victim, at: 0 }];
    },
    'a commit as retired': (_, state) => {
      state['retired'] = [
        { path: '_iceberg/events/metadata/../../../events/_delta_log/00000000000000000000.json', at: 0 },
      ];
    },
    'what is written next as retired': (_, state) => {
      const names = ['v2.metadata.json', 'version-hint.text'];
      state['retired'] = names.map((name) => ({ path: `_iceberg/events/metadata/${name}`, at: 0 }));
    },
    'a data file as the manifest list': (_, state, victim) => {
      state['list'] = victim;
    },
    'a manifest elsewhere': (_, state) => {
      for (const manifest of state['manifests'] as Fields[]) manifest['path'] = '_iceberg/entries/metadata/x.avro';
    },
    'half a sequence': (metadata) => {
      metadata['last-sequence-number'] = 0.5;
    },
    'files that are no number': (_, state) => {
      for (const manifest of state['manifests'] as Fields[]) manifest['files'] = -0.5;
    },
    'no state': (metadata) => {
      for (const name of Object.keys(metadata)) if (name !== 'properties') metadata[name] = null;
    },
  };
  for (const [name, change] of Object.entries(attacks)) {
    const location = await aSmallLake();
    const lake = await open(location, clock);
    const { store } = lake;
    await exportIceberg(lake, clock);
    const [victim = ''] = kept(lake);
    await tampered(store, '1', (metadata, state) => {
      change(metadata, state, victim);
    });
    // So that there is something to write.
    await refreshed(location, new Map([[2, [shipment(within(2), 'order-2-0', '20')]]]), { clock });
    for (const days of [0, 2, 2]) {
      clock.set(clock.now() + days * dayMs);
      await exportIceberg(await open(location, clock), clock);
      const now = await open(location, clock);
      for (const path of kept(now)) expect(await store.read(path), `${name}: ${path}`).toBeDefined();
      expect((await readTable(store, 'events')).paths, name).toHaveLength(3);
    }
    expect(await store.read('events/_delta_log/00000000000000000000.json'), name).toBeDefined();
  }
});

test('a number that no export comes to is passed over', async () => {
  const clock = setClock(noon);
  const lake = await open(await aSmallLake(), clock);
  await exportIceberg(lake, clock);
  for (const number of ['9007199254740992', '99999999999999999999999', '1e9', '-1']) {
    await tampered(lake.store, number, () => undefined);
  }
  await lake.store.remove('_iceberg/events/metadata/v1.metadata.json');
  await exportIceberg(lake, clock);
  expect((await readTable(lake.store, 'events')).version).toBe(1);
});
