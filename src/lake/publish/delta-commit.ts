import { isObject, type Action, type Remove } from '../delta/actions.js';
import type { RemovedFile, TableChange } from '../catalog/change.js';
import type { Commit, Sealed } from '../catalog/commit.js';

/** The Delta protocol of plain tables. */
export const deltaProtocol = { minReaderVersion: 1, minWriterVersion: 2 } as const;

/**
 * The published version of a table: the Delta commit (protocol, "Delta Log Entries") of a commit of the catalog that touches it.
 * It carries that commit's header and hash, so that the catalog's can be restored from its publications and proves itself.
 *
 * @param engine the program and its version; its only part that isn't a function of the commit
 */
export function deltaCommit(
  table: string,
  version: number,
  { value, hash }: Sealed<Commit>,
  engine: string,
): Uint8Array {
  const { tables, ...header } = value;
  const { metaData, description, add = [], remove = [] } = tables[table] ?? {};
  const catalog = { ...header, tables: Object.keys(tables), ...(description && { description }), sha256: hash };
  const commitInfo = {
    timestamp: value.at,
    operation: value.operation,
    engineInfo: engine,
    isBlindAppend: remove.length === 0,
    catalog,
  };
  const actions: Action[] = [
    { commitInfo },
    ...(version === 0 ? [{ protocol: deltaProtocol }] : []),
    ...(metaData === undefined ? [] : [{ metaData }]),
    ...remove.map((file) => ({ remove: publishedRemoval(file, value.at) })),
    ...add.map((file) => ({ add: file })),
  ];
  return Buffer.from(actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
}

function publishedRemoval(file: RemovedFile, at: number): Remove {
  return { ...file, deletionTimestamp: at, extendedFileMetadata: true };
}

/** The hash of the commit that a published version carries; undefined where it carries none. */
export function publishedHash(bytes: Uint8Array): string | undefined {
  return publishedHeader(firstLine(bytes))?.sha256;
}

/** The part of a published version that is of the whole commit, and that of its table. */
export interface PublishedChange {
  /** The commit without its tables, in the catalog's order. */
  readonly header: Omit<Commit, 'tables'>;
  /** The tables that the commit touches. */
  readonly tables: readonly string[];
  readonly sha256: string;
  readonly change: TableChange;
}

/** What a published version says of its commit; undefined where it isn't one of this program's, or is damaged. */
export function readPublished(bytes: Uint8Array): PublishedChange | undefined {
  const lines = text(bytes).trimEnd().split('\n').map(parsed);
  const found = publishedHeader(lines[0]);
  if (found === undefined || !lines.every(isObject)) return undefined;
  const { sha256, tables, description, ...header } = found;
  const actions = lines as readonly Partial<Record<string, object>>[];
  const actionsOf = <T>(name: string) => actions.flatMap((action) => (action[name] as T | undefined) ?? []);
  const [metaData] = actionsOf<NonNullable<TableChange['metaData']>>('metaData');
  const change: TableChange = {
    ...(metaData !== undefined && { metaData }),
    ...(isObject(description) && { description }),
    remove: actionsOf<Remove & RemovedFile>('remove').map(({ path, partitionValues, size, dataChange }) => ({
      path,
      partitionValues,
      size,
      dataChange,
    })),
    add: actionsOf<NonNullable<TableChange['add']>[number]>('add'),
  };
  return { header: header as unknown as PublishedChange['header'], tables, sha256, change };
}

function publishedHeader(line: unknown) {
  const commitInfo = isObject(line) ? line['commitInfo'] : undefined;
  const catalog = isObject(commitInfo) ? commitInfo['catalog'] : undefined;
  if (!isObject(catalog)) return undefined;
  const { sha256, tables } = catalog;
  if (typeof sha256 !== 'string' || !Array.isArray(tables)) return undefined;
  return { ...catalog, sha256, tables: tables.map(String), description: catalog['description'] };
}

function firstLine(bytes: Uint8Array): unknown {
  const end = bytes.indexOf(0x0a);
  return parsed(text(end < 0 ? bytes : bytes.subarray(0, end)));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
