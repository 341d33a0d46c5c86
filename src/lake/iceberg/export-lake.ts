import type { Table } from '../../core/columns/table.js';
import type { MetaData } from '../delta/actions.js';
import { rowsOf, type DataFile } from '../delta/data-file.js';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { groupBy } from '../../core/group-by.js';
import { dayMs } from '../../core/windows.js';
import type { Lake } from '../lake.js';
import { parseNote, type Store } from '../store/store.js';
import { type Exported, exportTables, locationOf } from '../table-export.js';
import { icebergFolder } from '../data-files.js';
import {
  naturalNumber,
  manifestEntries,
  manifestFile,
  manifestList,
  manifestSchema,
  type Manifest,
  icebergFields,
  icebergSchema,
  nameMapping,
  partitionFields,
  specFields,
  type IcebergField,
} from './manifests.js';

/**
 * Writes Iceberg metadata (version 2) of every table beside the Delta logs, over the same committed data files. A version of the
 * metadata is claimed like a commit, by creating its file, so that a newer version never has an older state. A table whose newest
 * metadata is up to date is skipped.
 *
 * @throws LedgerlakeError as the store and the log do; a repeated call continues
 */
export function exportIceberg(lake: Lake, clock: Clock): Promise<Exported> {
  return exportTables(lake, (table) => exportTable(lake, table, clock));
}

/** The fields of a table's metadata that the next export reads. */
const metadataSchema = z.object({
  'last-sequence-number': naturalNumber,
  schemas: z.array(z.unknown()),
  properties: z.object({ 'ledgerlake.state': z.string() }),
});

/**
 * The state that an export keeps as a property of a table's metadata; readers ignore it. Files that it names are deleted
 * eventually, so each must be in the metadata folder of the table in `folder`, as the state may come from anybody.
 */
function stateSchema(folder: string) {
  const prefix = `${folder}/metadata/`;
  const path = z
    .string()
    .refine((text) => text.startsWith(prefix) && /^[\w-]+\.(?:avro|metadata\.json)$/.test(text.slice(prefix.length)));
  return z.object({
    manifests: z.array(manifestSchema.extend({ path })),
    /** Files that only older metadata references; `at`: when the first metadata without them was written, milliseconds since 1970. */
    retired: z.array(z.object({ path, at: z.number() })),
    /** The manifest list. */
    list: path,
  });
}

type State = Readonly<z.infer<ReturnType<typeof stateSchema>>>;

interface Previous {
  readonly version: number;
  readonly sequence: number;
  readonly schema: string;
  /** Undefined where it can't be read. */
  readonly state: State | undefined;
}

/** The next version of a table's metadata, as one attempt to write it computes it. */
interface NextVersion {
  readonly store: Store;
  readonly table: string;
  readonly metaData: MetaData;
  readonly retentionMs: number;
  /** The table's folder of Iceberg metadata, within the lake. */
  readonly folder: string;
  readonly previous: Previous;
  readonly version: number;
  readonly sequence: number;
  /** Id of the snapshot. */
  readonly snapshot: number;
  readonly fields: readonly IcebergField[];
  /** JSON of the Iceberg schema. */
  readonly schema: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns the number of bytes written; undefined where the newest metadata is up to date. */
async function exportTable(lake: Lake, table: Table, clock: Clock): Promise<number | undefined> {
  const { store } = lake;
  const folder = `${icebergFolder}/${table.name}`;
  for (;;) {
    // The newest metadata is looked up before the log is read, so that the version behind it never has an older state.
    const previous = await newestMetadata(store, folder);
    await lake.refresh();
    const { metaData } = lake.snapshot.tables.get(table.name) ?? {};
    if (metaData === undefined) return undefined;
    const { retentionMs } = lake.snapshot.config;
    const next = nextVersion({ store, table: table.name, metaData, retentionMs, folder, previous }, clock.now());
    const { manifests, files } = currentManifests(next, filesByAccount(lake.snapshot.files(table.name)));
    if (files.size === 0 && hasSameContent(next, manifests)) return undefined;

    const list = `${folder}/metadata/snap-${next.snapshot}.avro`;
    const id = { id: next.snapshot, sequence: next.sequence };
    files.set(
      list,
      manifestList(manifests, id, (path) => locationOf(store, path)),
    );
    const { retired, expired } = retiredFiles(next, [...manifests.map(({ path }) => path), list]);
    const metadata = Buffer.from(JSON.stringify(tableMetadata(next, { manifests, retired, list })));
    for (const [path, bytes] of files) await store.write(path, bytes);
    const earlier = previous.version > 0 ? metadataPath(folder, previous.version) : undefined;
    if (!(await store.create(metadataPath(folder, next.version), metadata, earlier))) continue;
    await store.write(`${folder}/metadata/version-hint.text`, Buffer.from(String(next.version)));
    for (const path of expired) await store.remove(path);
    return metadata.length + [...files.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

function nextVersion(
  target: Pick<NextVersion, 'store' | 'table' | 'metaData' | 'retentionMs' | 'folder' | 'previous'>,
  now: number,
): NextVersion {
  const { metaData, previous } = target;
  const fields = icebergFields(metaData.schemaString);
  const sequence = previous.sequence + 1;
  // Unique, and an integer that a JSON number holds exactly.
  const snapshot = now * 1000 + (sequence % 1000);
  const schema = JSON.stringify(icebergSchema(fields));
  return { ...target, version: previous.version + 1, sequence, snapshot, fields, schema, now };
}

/** The manifest of each account: the previous one where its files are unchanged, else a new one, whose bytes are in `files`. */
function currentManifests(
  next: NextVersion,
  byAccount: ReadonlyMap<string, readonly DataFile[]>,
): { readonly manifests: Manifest[]; readonly files: Map<string, Uint8Array> } {
  const files = new Map<string, Uint8Array>();
  const manifests = [...byAccount].map(([account, some]) => {
    const sha256 = contentHash(next, some);
    const previous = next.previous.state?.manifests.find((manifest) => manifest.account === account);
    if (previous?.sha256 === sha256) return previous;
    const { manifest, bytes } = newManifest(next, account, some, sha256);
    files.set(manifest.path, bytes);
    return manifest;
  });
  return { manifests, files };
}

/** Whether the previous metadata has the same schema and as many manifests, none of which is new. */
function hasSameContent({ previous, schema }: NextVersion, manifests: readonly Manifest[]): boolean {
  return manifests.length === previous.state?.manifests.length && schema === previous.schema;
}

/** The table's metadata (Iceberg specification, "Table Metadata") with the state that the next export reads. */
function tableMetadata(
  { store, metaData, folder, fields, sequence, snapshot, now }: NextVersion,
  state: State,
): object {
  return {
    'format-version': 2,
    'table-uuid': metaData.id,
    location: locationOf(store, folder),
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
    properties: { 'schema.name-mapping.default': nameMapping(fields), 'ledgerlake.state': JSON.stringify(state) },
    'current-snapshot-id': snapshot,
    refs: { main: { 'snapshot-id': snapshot, type: 'branch' } },
    snapshots: [
      {
        'snapshot-id': snapshot,
        'sequence-number': sequence,
        'timestamp-ms': now,
        'manifest-list': locationOf(store, state.list),
        summary: {
          operation: 'overwrite',
          'total-data-files': String(state.manifests.reduce((sum, { files }) => sum + files, 0)),
          'total-records': String(state.manifests.reduce((sum, { rows }) => sum + rows, 0)),
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
 * The newest metadata of a table; where it can't be read, the next version is written without it. Version numbers of more than 15
 * digits are ignored: adding 1 to one may give the same number.
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
    const { schemas, properties, 'last-sequence-number': sequence } = metadataSchema.parse(value);
    const state = stateSchema(folder).parse(JSON.parse(properties['ledgerlake.state']));
    return { version, sequence, schema: JSON.stringify(schemas[0]), state };
  });
  return found ?? none;
}

function filesByAccount(files: Iterable<DataFile>): ReadonlyMap<string, readonly DataFile[]> {
  const byAccount = groupBy(files, ({ account }) => account);
  for (const some of byAccount.values()) some.sort((a, b) => (a.path < b.path ? -1 : 1));
  return byAccount;
}

/**
 * The hash of what a manifest records of files: the files of most accounts are unchanged, and encoding a manifest takes much
 * longer than hashing it.
 */
function contentHash({ store, folder, schema }: NextVersion, files: readonly DataFile[]): string {
  const hash = createHash('sha256').update(`${locationOf(store, folder)}\n${schema}`);
  for (const { path, size, stats = '', rows } of files) hash.update(`\n${path} ${size} ${rows} ${stats}`);
  return hash.digest('hex');
}

function newManifest(
  { store, folder, fields, snapshot, sequence }: NextVersion,
  account: string,
  files: readonly DataFile[],
  sha256: string,
): { readonly manifest: Manifest; readonly bytes: Uint8Array } {
  const entries = manifestEntries(files, fields, (file) => locationOf(store, file.lakePath));
  const bytes = manifestFile(entries, fields);
  const months = files.map(({ month }) => month).toSorted();
  const manifest: Manifest = {
    account,
    path: `${folder}/metadata/${snapshot}-${sha256.slice(0, 16)}.avro`,
    length: bytes.length,
    snapshot,
    sequence,
    files: files.length,
    rows: rowsOf(files),
    sha256,
    months: [months[0] ?? '', months.at(-1) ?? ''],
  };
  return { manifest, bytes };
}

/**
 * Files that older metadata references and the next version, with these files, doesn't; and those of them that no reader opens
 * any more.
 */
function retiredFiles(
  { retentionMs, folder, version, previous, now }: NextVersion,
  files: readonly string[],
): { readonly retired: State['retired']; readonly expired: readonly string[] } {
  const { state } = previous;
  const current = new Set([...files, metadataPath(folder, version)]);
  const referenced = [
    ...(state === undefined ? [] : [...state.manifests.map(({ path }) => path), state.list]),
    ...(previous.version > 0 ? [metadataPath(folder, previous.version)] : []),
  ];
  const all = [...(state?.retired ?? []), ...referenced.map((path) => ({ path, at: now }))].filter(
    ({ path }) => !current.has(path),
  );
  const keptMs = Math.max(dayMs, retentionMs);
  return {
    retired: all.filter(({ at }) => at + keptMs > now),
    expired: all.filter(({ at }) => at + keptMs <= now).map(({ path }) => path),
  };
}
