import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeNewFile } from '../../core/io/write-file.js';
import { openDatabase, type Database } from '../../core/duckdb/connection.js';
import { readParquet } from '../../core/duckdb/literals.js';
import { codeOf, messageOf } from '../../core/errors.js';
import type { ResultCell, ResultRow } from '../../core/text/rows.js';
import { checkpointHintPath, checkpointPath } from '../catalog/catalog-files.js';
import type { TableChange } from '../catalog/change.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { isObject, type Add, type MetaData } from '../delta/actions.js';
import { parseNote, type Store } from '../store/store.js';

/** A checkpoint that was read. */
interface CheckpointRows {
  readonly bytes: Uint8Array;
  /** Its rows, or why they can't be read. */
  readonly rows: readonly ResultRow[] | string;
}

/** The hint to the newest checkpoint. */
interface Hint {
  readonly version: number;
  readonly size: unknown;
  readonly sizeInBytes: unknown;
  readonly sha256: unknown;
}

/** The published checkpoints of a table, and the table's files at the version that is compared next. */
export class PublishedCheckpoints {
  readonly #table: string;
  readonly #checkpoints: ReadonlyMap<number, CheckpointRows>;
  /** By path; undefined for a file of which only the removal is known. Undefined once the files aren't known any more. */
  #files: Map<string, Add | undefined> | undefined;
  #metaData: MetaData | undefined;
  readonly #hint: Hint | undefined;
  /** What is wrong with the hint. */
  readonly hintFault: string | undefined;

  private constructor(
    snapshot: Snapshot,
    table: string,
    checkpoints: ReadonlyMap<number, CheckpointRows>,
    hint: Hint | undefined,
    hintFault: string | undefined,
  ) {
    this.#hint = hint;
    this.#table = table;
    this.#checkpoints = checkpoints;
    this.#files = new Map([...snapshot.files(table)].map((file) => [file.path, file]));
    this.#metaData = snapshot.tables.get(table)?.metaData;
    this.hintFault = hintFault;
  }

  /**
   * Reads the checkpoints of a table; undefined where it has none and no hint.
   *
   * @throws LedgerlakeError LAKE_STORE
   */
  static async of(store: Store, snapshot: Snapshot, table: string): Promise<PublishedCheckpoints | undefined> {
    const versions: number[] = [];
    for await (const { path } of store.list(`${table}/_delta_log`)) {
      const [, digits] = /\/(\d{20})\.checkpoint\.parquet$/.exec(path) ?? [];
      if (digits !== undefined) versions.push(Number(digits));
    }
    const hint = await store.read(checkpointHintPath(table));
    if (versions.length === 0 && hint === undefined) return undefined;
    const hinted = parseNote(hint, hintOf);
    const isNamed = hint === undefined || versions.includes(hinted?.version ?? -1);
    const fault = isNamed ? undefined : 'expected the version of a checkpoint, it names none';
    return new PublishedCheckpoints(snapshot, table, await readAll(store, table, versions), hinted, fault);
  }

  /** What is wrong with the checkpoint of the version that is compared next; undefined where there is none, or it is well. */
  faultAt(version: number): string | undefined {
    const read = this.#checkpoints.get(version);
    if (read === undefined) return undefined;
    const { rows: found } = read;
    if (typeof found === 'string') return found;
    if (this.#hint?.version === version && !isHinted(read, this.#hint)) return 'it is another one than its hint names';
    const files = this.#files;
    if (files === undefined) return undefined;
    const metaData = found.filter((row) => row['id'] !== null);
    const [described] = metaData;
    if (metaData.length !== 1 || !isMetaData(described, this.#metaData)) return 'it has another schema';
    if (!found.some((row) => row['protocol'] !== null)) return 'it has no protocol';
    const rows = found.filter((row) => row['path'] !== null);
    const isSame = ({ path, ...row }: ResultRow) => {
      const add = files.get(String(path));
      return add === undefined ? files.has(String(path)) : isRowOf(row, add);
    };
    if (rows.length === files.size && rows.every(isSame)) return undefined;
    return `expected the ${files.size} files of its version, found others`;
  }

  /** Goes back behind a version; undefined: what it changed isn't known. */
  undo(change: TableChange | undefined): void {
    if (change === undefined) this.#files = undefined;
    if (change?.metaData !== undefined) this.#metaData = undefined;
    for (const { path } of change?.add ?? []) this.#files?.delete(path);
    for (const { path } of change?.remove ?? []) this.#files?.set(path, undefined);
  }

  /** The path of the checkpoint of a version, and of the hint. */
  pathOf(version: number | 'hint'): string {
    return version === 'hint' ? checkpointHintPath(this.#table) : checkpointPath(this.#table, version);
  }
}

function hintOf(value: unknown): Hint | undefined {
  if (!isObject(value) || typeof value['version'] !== 'number') return undefined;
  const { version, size, sizeInBytes, tags } = value;
  return { version, size, sizeInBytes, sha256: isObject(tags) ? tags['sha256'] : undefined };
}

function isHinted({ bytes, rows }: CheckpointRows, { size, sizeInBytes, sha256 }: Hint): boolean {
  return rows.length === size && bytes.length === sizeInBytes && hash('sha256', bytes) === sha256;
}

/** Whether a row is that of a table's metaData; undefined: it isn't known. */
function isMetaData(row: ResultRow | undefined, metaData: MetaData | undefined): boolean {
  if (metaData === undefined) return row !== undefined;
  return row?.['id'] === metaData.id && row['schemaString'] === metaData.schemaString;
}

function isRowOf(row: ResultRow, { size, modificationTime, stats, tags, partitionValues }: Add): boolean {
  return (
    row['size'] === BigInt(size) &&
    row['modificationTime'] === BigInt(modificationTime) &&
    row['stats'] === (stats ?? null) &&
    isDeepStrictEqual(cellJson(row['tags']), tags ?? null) &&
    isDeepStrictEqual(cellJson(row['partitionValues']), partitionValues)
  );
}

function cellJson(cell: ResultCell | undefined): unknown {
  return typeof cell === 'string' ? parseNote(cell, (value) => value) : cell;
}

/** Reads checkpoints through local copies, because DuckDB must access nothing else. */
async function readAll(store: Store, table: string, versions: readonly number[]): Promise<Map<number, CheckpointRows>> {
  const read = new Map<number, CheckpointRows>();
  if (versions.length === 0) return read;
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-checkpoints-'));
  const database = await openDatabase({ folders: [folder] });
  try {
    for (const version of versions) {
      const bytes = await store.read(checkpointPath(table, version));
      if (bytes === undefined) continue;
      const path = join(folder, `${version}.parquet`);
      await writeNewFile(path, bytes, { mode: 0o600 });
      read.set(version, { bytes, rows: await checkpointRows(database, path) });
      await rm(path);
    }
  } finally {
    database.close();
    await rm(folder, { recursive: true, force: true });
  }
  return read;
}

async function checkpointRows(database: Database, path: string): Promise<CheckpointRows['rows']> {
  const add = ['path', 'size', 'modificationTime', 'stats', 'tags', 'partitionValues'];
  const columns = [
    ...add.map((name) => `"add"."${name}" AS "${name}"`),
    ...['id', 'schemaString'].map((name) => `"metaData"."${name}" AS "${name}"`),
    '"protocol"."minReaderVersion" AS "protocol"',
  ];
  try {
    return await database.rows(`SELECT ${columns.join(', ')} FROM ${readParquet([path])}`);
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    const [line = ''] = messageOf(error).split('\n');
    return `it can't be read (${line.replaceAll(path, 'it').slice(0, 200)})`;
  }
}
