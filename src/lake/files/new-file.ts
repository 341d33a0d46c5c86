import { sharedTags, type DataFile, type NetSums, type GroupSpan } from '../delta/data-file.js';
import { millisecondsOf } from '../../core/numeric/instant.js';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { FileContent } from '../../core/io/file-content.js';
import type { EncodedFile } from '../../core/parquet/encode-file.js';
import type { NewFile } from '../commit-files.js';
import { type LocalParquet, rowsIn } from './local-parquet.js';
import { firstStart, loadKeysLabel } from './load-key-rows.js';
import { version } from '../../core/version.js';
import { millionths, millionthsText } from '../../core/numeric/decimal.js';
import type { Database } from '../../core/duckdb/connection.js';
import type { ResultCell } from '../../core/text/rows.js';

/** Key-value metadata of a file made from others, in the form of a slice's files. */
export function metadataOf(pipeline: string, { account, loadKeys }: Pick<NewFile, 'account' | 'loadKeys'>) {
  return fileMetadata(pipeline, account, loadKeysLabel(loadKeys));
}

/** The name of a file made from others, or imported: by the start of its windows, else by its month. */
export function nameOf(origin: 'compact' | 'import', { loadKeys, month }: Pick<NewFile, 'loadKeys' | 'month'>): string {
  return `${origin}-${firstStart(loadKeys) ?? month}`;
}

/** Whether a file was made from others, and not written by a slice. */
export function isRewritten({ path }: DataFile): boolean {
  return basename(path).startsWith('compact-');
}

/** Bytes read at once to hash a file. */
const hashedBytes = 1_000_000;

async function hashed(path: string): Promise<FileContent> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of createReadStream(path, { highWaterMark: hashedBytes }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    size += piece.length;
  }
  return { size, sha256: hash.digest('hex') };
}

/** A file in memory or on the local disk as a new file of the lake. */
export async function newFile(
  file: EncodedFile | LocalParquet,
  about: Omit<NewFile, keyof EncodedFile | 'read'>,
): Promise<NewFile> {
  const { rows, stats } = file;
  if ('bytes' in file) {
    const { bytes, content } = file;
    return { ...about, rows, stats, content, read: () => Promise.resolve(bytes) };
  }
  const { path, content = await hashed(path) } = file;
  return { ...about, rows, stats, content, read: () => readFile(path) };
}

/**
 * Key-value metadata of a slice's files. It is deterministic, so that the same slice gives the same bytes. It is one
 * pair, because the order of several is undefined in parquet-wasm.
 */
export function fileMetadata(pipeline: string, account: string, window: string): ReadonlyMap<string, string> {
  return new Map([['ledgerlake', JSON.stringify({ version, account, pipeline, window })]]);
}

/** The tags of a file with the rows of several: the groups of all, exact sums, and other tags where all are equal. */
export function mergedTags(files: readonly DataFile[]): Pick<NewFile, 'shared' | 'net' | 'groups'> {
  const nets = files.flatMap(({ net }) => (net === undefined ? [] : [net]));
  const groups = files.flatMap((file) => (file.groups === undefined ? [] : [file.groups]));
  return {
    shared: sharedTags(files),
    ...(nets.length > 0 && { net: addNets(nets) }),
    ...(groups.length > 0 && { groups: groups.flat() }),
  };
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
