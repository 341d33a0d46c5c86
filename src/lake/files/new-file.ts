import {
  addOf,
  sharedTags,
  type AddedFile,
  type DataFile,
  type NetSums,
  type GroupSpan,
  type FileTags,
} from '../delta/data-file.js';
import { millisecondsOf } from '../../core/numeric/instant.js';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Table, PipelineTables } from '../../core/columns/table.js';
import type { NewFile } from '../commit-files.js';
import { type LocalParquet, rowsIn } from './local-parquet.js';
import { firstStart, loadKeysLabel } from './load-key-rows.js';
import { version } from '../../core/version.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import type { Database } from '../../core/duckdb/connection.js';
import type { ResultCell } from '../../core/text/rows.js';

/** The table, partition and load keys of a new file. */
export interface FileTarget {
  readonly pipeline: PipelineTables;
  readonly account: string;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** The load keys of its rows. */
  readonly loadKeys: readonly string[];
}

/** Key-value metadata of a file made from others, in the form of a slice's files. */
export function metadataOf({ pipeline, account, loadKeys }: FileTarget): ReadonlyMap<string, string> {
  return fileMetadata(pipeline.name, account, loadKeysLabel(loadKeys));
}

/** Files made from others: the prefix of their names, and whether they change data. */
const rewritten = {
  prefix: 'compact-',
  // The same rows in other files: no news for readers of the table's changes.
  dataChange: false,
};

/** Files of an import, whose rows are new to the lake. */
export const imported: typeof rewritten = { prefix: 'import-', dataChange: true };

/** Whether a file was made from others, and not written by a slice. */
export function isRewritten({ path }: DataFile): boolean {
  return basename(path).startsWith(rewritten.prefix);
}

/** Bytes read at once to hash a file. */
const hashedBytes = 1_000_000;

async function hashed(path: string): Promise<AddedFile['content']> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of createReadStream(path, { highWaterMark: hashedBytes }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    size += piece.length;
  }
  return { size, sha256: hash.digest('hex') };
}

/**
 * A local file as a new file of the lake, named by the start of its windows, else by its month.
 *
 * @param origin prefix of its name, and whether its rows are new to the lake; left out: they aren't
 */
export async function newFile(
  table: Table,
  { account, month, loadKeys }: FileTarget,
  local: LocalParquet,
  tags: FileTags,
  now: number,
  origin = rewritten,
): Promise<NewFile> {
  const content = local.content ?? (await hashed(local.path));
  const add = {
    path: `account=${account}/month=${month}/${origin.prefix}${firstStart(loadKeys) ?? month}`,
    account,
    month,
    loadKeys,
    content,
    dataChange: origin.dataChange,
    rows: local.rows,
    stats: local.stats,
    ...tags,
  };
  return { table, read: () => readFile(local.path), add: addOf(add, now) };
}

/**
 * Key-value metadata of a slice's files. It is deterministic, so that the same slice gives the same bytes. It is one
 * pair, because the order of several is undefined in parquet-wasm.
 */
export function fileMetadata(pipeline: string, account: string, window: string): ReadonlyMap<string, string> {
  return new Map([['ledgerlake', JSON.stringify({ version, account, pipeline, window })]]);
}

/** The tags of a file with the rows of several: the groups of all, exact sums, and other tags where all are equal. */
export function mergedTags(files: readonly DataFile[]): FileTags {
  const nets = files.flatMap(({ net }) => (net === undefined ? [] : [net]));
  const groups = files.flatMap((file) => (file.groups === undefined ? [] : [file.groups]));
  return {
    shared: sharedTags(files),
    ...(nets.length > 0 && { net: addNets(nets) }),
    ...(groups.length > 0 && { groups: groups.flat() }),
  };
}

/** The same new file, whose rows are new to readers of the table's changes. */
export function changingData(file: NewFile): NewFile {
  return { ...file, add: { ...file.add, dataChange: true } };
}

/** Exact sums of decimal texts by currency, sorted by currency. */
export function addNets(nets: readonly NetSums[]): NetSums {
  const sums = new Map<string, bigint>();
  for (const [currency, text] of nets.flatMap((net) => Object.entries(net))) {
    sums.set(currency, (sums.get(currency) ?? 0n) + millionths(text));
  }
  const texts = [...sums].map(([currency, sum]): [string, string] => [currency, millionthsText(sum)]);
  return Object.fromEntries(texts.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Exact net sums by currency over the rows of local files of entries. */
export async function netSumsIn(database: Database, paths: readonly string[]): Promise<NetSums> {
  const rows = await database.rows(
    `SELECT coalesce(currency, '') AS currency, CAST(sum(amount) AS VARCHAR) AS net FROM ${rowsIn(paths)} ` +
      `WHERE role = 'net' AND amount IS NOT NULL GROUP BY ALL`,
  );
  return Object.fromEntries(rows.map(({ currency, net }) => [String(currency), String(net)]));
}

/** The figures of each group of a local file, for the log; instants in milliseconds since 1970, null where there is none. */
export async function groupSpans(database: Database, path: string): Promise<GroupSpan[]> {
  const rows = await database.rows(
    'SELECT group_id, epoch_us(started_at) AS started, epoch_us(ended_at) AS ended, ' +
      `ended_at IS NOT NULL AND processing_status IS NOT DISTINCT FROM 'Open' AS open, ` +
      `ended_at IS NOT NULL AND processing_status IS DISTINCT FROM 'Open' AND original_total IS NULL AS awaited FROM ${rowsIn([path])}`,
  );
  const milliseconds = (micros: ResultCell | undefined) => (typeof micros === 'bigint' ? millisecondsOf(micros) : null);
  return rows.map(({ group_id, started, ended, open, awaited }) => ({
    id: typeof group_id === 'string' ? group_id : '',
    start: milliseconds(started),
    end: milliseconds(ended),
    ...(open === true && { open }),
    ...(awaited === true && { awaited }),
  }));
}
