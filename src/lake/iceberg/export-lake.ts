import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { groupBy } from '../../core/group-by.js';
import { dayMs } from '../../core/windows.js';
import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { accountOf } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';
import { parseNote, type Store } from '../store/store.js';
import { type Exported, exportTables, locationOf } from '../table-export.js';
import { icebergFolder } from '../upkeep/vacuum.js';
import { manifestEntries, manifestFile, manifestList, type Manifest } from './manifests.js';
import {
  icebergFields,
  icebergSchema,
  nameMapping,
  partitionFields,
  specFields,
  type IcebergField,
} from './iceberg-schema.js';

/**
 * Writes Iceberg metadata (version 2) of every table beside the logs, over the same data files: those that count, of events and
 * entries alike. A table's metadata is claimed as a commit is, by creating its file, so that a newer one never has an older
 * state. A table whose files are those of its newest metadata is left alone.
 *
 * @throws LedgerlakeError as the store and the log do; called again it goes on from there
 */
export function exportIceberg(lake: Lake, clock: Clock): Promise<Exported> {
  return exportTables(lake, (table) => exportTable(lake, table, clock));
}

const count = z.int().min(0);

/** What the next export takes from a table's metadata; the rest is for its readers. */
const kept = z.object({
  'last-sequence-number': count,
  schemas: z.array(z.unknown()),
  properties: z.object({ 'ledgerlake.state': z.string() }),
});

/**
 * What a table's metadata is made of, as a property of it: no reader has to understand it. Files that it names are deleted in
 * time, so each lies among the metadata of the table in `folder`, whoever has written it.
 */
function stateSchema(folder: string) {
  const prefix = `${folder}/metadata/`;
  const path = z
    .string()
    .refine((text) => text.startsWith(prefix) && /^[\w-]+\.(?:avro|metadata\.json)$/.test(text.slice(prefix.length)));
  return z.object({
    manifests: z.array(
      z.object({
        account: z.string(),
        path,
        length: count,
        snapshot: count,
        sequence: count,
        files: count,
        rows: count,
        sha256: z.string(),
        months: z.tuple([z.string(), z.string()]),
      }),
    ),
    /** Files that older metadata names, with when the first one without them was written. */
    retired: z.array(z.object({ path, at: z.number() })),
    /** The manifest list. */
    list: path,
  });
}

interface Previous {
  readonly version: number;
  readonly sequence: number;
  readonly schema: string;
  /** Undefined where it can't be read. */
  readonly state: z.infer<ReturnType<typeof stateSchema>> | undefined;
}

/** Bytes written; undefined where everything was as it should be. */
async function exportTable(lake: Lake, table: DeltaTable, clock: Clock): Promise<number | undefined> {
  const { store } = lake;
  const folder = `${icebergFolder}/${table.schema.name}`;
  for (;;) {
    // Which metadata is the newest is read before the log, so that what follows it is never older.
    const previous = await newestMetadata(store, folder);
    await lake.refresh();
    const { metaData } = table;
    if (metaData === undefined) return undefined;
    const now = clock.now();
    const fields = icebergFields(metaData.schemaString);
    const schema = JSON.stringify(icebergSchema(fields));
    const sequence = previous.sequence + 1;
    // Unique, and exact as a number of JSON.
    const snapshot = now * 1000 + (sequence % 1000);
    const files = new Map<string, Uint8Array>();
    const manifests = [...addsByAccount(lake, table)].map(([account, adds]) => {
      const sha256 = contentHash(`${locationOf(store, folder)}\n${schema}`, adds);
      const kept = previous.state?.manifests.find((manifest) => manifest.account === account);
      if (kept?.sha256 === sha256) return kept;
      const encoded = manifestOf(account, adds, { folder, fields, snapshot, sequence, sha256, store, table });
      files.set(encoded.manifest.path, encoded.bytes);
      return encoded.manifest;
    });
    const isSame =
      files.size === 0 && manifests.length === previous.state?.manifests.length && schema === previous.schema;
    if (isSame) return undefined;

    const list = `${folder}/metadata/snap-${snapshot}.avro`;
    files.set(
      list,
      manifestList(manifests, { id: snapshot, sequence }, (path) => locationOf(store, path)),
    );
    const version = previous.version + 1;
    const current = [...manifests.map(({ path }) => path), list, metadataPath(folder, version)];
    const { retired, expired } = retiredFiles(previous, current, {
      now,
      keptMs: Math.max(dayMs, table.retentionMs),
      folder,
    });
    const state = JSON.stringify({ manifests, retired, list });
    const named = { id: metaData.id, location: locationOf(store, folder), list: locationOf(store, list) };
    const metadata = Buffer.from(
      JSON.stringify(tableMetadata({ ...named, fields, manifests, state, snapshot, sequence, now })),
    );
    for (const [path, bytes] of files) await store.write(path, bytes);
    if (!(await store.create(metadataPath(folder, version), metadata))) continue;
    await store.write(`${folder}/metadata/version-hint.text`, Buffer.from(String(version)));
    for (const path of expired) await store.remove(path);
    return metadata.length + [...files.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

/** Iceberg specification, "Table Metadata". */
function tableMetadata({
  id,
  location,
  list,
  fields,
  manifests,
  state,
  snapshot,
  sequence,
  now,
}: {
  readonly id: string;
  readonly location: string;
  /** The location of the manifest list. */
  readonly list: string;
  readonly fields: readonly IcebergField[];
  readonly manifests: readonly Manifest[];
  readonly state: string;
  readonly snapshot: number;
  readonly sequence: number;
  readonly now: number;
}): object {
  return {
    'format-version': 2,
    'table-uuid': id,
    location,
    'last-sequence-number': sequence,
    'last-updated-ms': now,
    'last-column-id': Math.max(0, ...fields.map((field) => field.id)),
    'current-schema-id': 0,
    schemas: [icebergSchema(fields)],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: specFields(fields) }],
    'last-partition-id': Math.max(...partitionFields.map((field) => field.id)),
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: { 'schema.name-mapping.default': nameMapping(fields), 'ledgerlake.state': state },
    'current-snapshot-id': snapshot,
    refs: { main: { 'snapshot-id': snapshot, type: 'branch' } },
    snapshots: [
      {
        'snapshot-id': snapshot,
        'sequence-number': sequence,
        'timestamp-ms': now,
        'manifest-list': list,
        summary: {
          operation: 'overwrite',
          'total-data-files': String(manifests.reduce((sum, { files }) => sum + files, 0)),
          'total-records': String(manifests.reduce((sum, { rows }) => sum + rows, 0)),
        },
        'schema-id': 0,
      },
    ],
    'snapshot-log': [{ 'snapshot-id': snapshot, 'timestamp-ms': now }],
    'metadata-log': [],
  };
}

function metadataPath(folder: string, version: number): string {
  return `${folder}/metadata/v${version}.metadata.json`;
}

/**
 * The newest metadata of a table; where it can't be read, all of it is written again behind it. Numbers that no export comes
 * to are passed over: the one behind such a number may be the same.
 */
async function newestMetadata(store: Store, folder: string): Promise<Previous> {
  let version = 0;
  for await (const { path } of store.list(folder)) {
    const [, number] = /\/metadata\/v(\d{1,15})\.metadata\.json$/.exec(path) ?? [];
    version = Math.max(version, Number(number ?? 0));
  }
  const none = { version, sequence: version, schema: '', state: undefined };
  if (version === 0) return none;
  const found = parseNote(await store.read(metadataPath(folder, version)), (value): Previous => {
    const { schemas, properties, 'last-sequence-number': sequence } = kept.parse(value);
    const state = stateSchema(folder).parse(JSON.parse(properties['ledgerlake.state']));
    return { version, sequence, schema: JSON.stringify(schemas[0]), state };
  });
  return found ?? none;
}

function addsByAccount(lake: Lake, table: DeltaTable): ReadonlyMap<string, readonly Add[]> {
  const adds = groupBy(lake.committedAddsOf(table), (add) => accountOf(add) ?? '');
  for (const accountAdds of adds.values()) accountAdds.sort((a, b) => (a.path < b.path ? -1 : 1));
  return adds;
}

/** Stands for what a manifest says of files: of most accounts nothing has changed, and to encode it takes much longer. */
function contentHash(table: string, adds: readonly Add[]): string {
  const hash = createHash('sha256').update(table);
  for (const { path, size, stats = '', tags } of adds)
    hash.update(`\n${path} ${size} ${tags?.['rows'] ?? ''} ${stats}`);
  return hash.digest('hex');
}

interface ManifestContext {
  readonly folder: string;
  readonly fields: readonly IcebergField[];
  readonly snapshot: number;
  readonly sequence: number;
  readonly sha256: string;
  readonly store: Store;
  readonly table: DeltaTable;
}

function manifestOf(
  account: string,
  adds: readonly Add[],
  { folder, fields, snapshot, sequence, sha256, store, table }: ManifestContext,
): { readonly manifest: Manifest; readonly bytes: Uint8Array } {
  const bytes = manifestFile(
    manifestEntries(adds, fields, (add) => locationOf(store, table.pathOf(add))),
    fields,
  );
  const months = adds.map(({ partitionValues }) => partitionValues['month'] ?? '').toSorted();
  const manifest: Manifest = {
    account,
    path: `${folder}/metadata/${snapshot}-${sha256.slice(0, 16)}.avro`,
    length: bytes.length,
    snapshot,
    sequence,
    files: adds.length,
    rows: adds.reduce((sum, { tags }) => sum + Number(tags?.['rows'] ?? 0), 0),
    sha256,
    months: [months[0] ?? '', months.at(-1) ?? ''],
  };
  return { manifest, bytes };
}

/** What the metadata before named and this one doesn't, and what of that no reader opens any more. */
function retiredFiles(
  { version, state }: Previous,
  current: readonly string[],
  { now, keptMs, folder }: { readonly now: number; readonly keptMs: number; readonly folder: string },
): { readonly retired: readonly { path: string; at: number }[]; readonly expired: readonly string[] } {
  const isCurrent = new Set(current);
  const before = [
    ...(state === undefined ? [] : [...state.manifests.map(({ path }) => path), state.list]),
    ...(version > 0 ? [metadataPath(folder, version)] : []),
  ];
  const leaving = before.map((path) => ({ path, at: now }));
  const all = [...(state?.retired ?? []), ...leaving].filter(({ path }) => !isCurrent.has(path));
  return {
    retired: all.filter(({ at }) => at + keptMs > now),
    expired: all.filter(({ at }) => at + keptMs <= now).map(({ path }) => path),
  };
}
