import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
import { addOf, type AddedFile } from '../delta/file-tags.js';
import type { NewFile } from '../transaction/written-files.js';
import type { Family } from './families.js';
import { bytesOf, type LocalParquet } from './local-parquet.js';
import { firstStart, loadKeysLabel } from './load-key-rows.js';
import { version } from '../../core/version.js';

/** Where a new file belongs. */
export interface FileTarget {
  readonly family: Family;
  readonly account: string;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** The load keys whose rows it holds. */
  readonly loadKeys: readonly string[];
}

/** Key-value metadata of a file made from others, as a slice's own files have it. */
export function metadataOf({ family, account, loadKeys }: FileTarget): ReadonlyMap<string, string> {
  return fileMetadata(family.pipeline, account, loadKeysLabel(loadKeys));
}

/** What the names of files begin with that were made from others. */
const prefix = 'compact-';

/** Whether a file was made from others, and not landed by a slice. */
export function isRewritten({ path }: Add): boolean {
  return basename(path).startsWith(prefix);
}

/** Read at once to hash a file: it is held whole only while it is written into the lake. */
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
 * A local file as one on its way into the lake, named by where its windows begin, else by its month, and by the hash of
 * its content. Rows and hash are added to its tags.
 */
export async function newFile(
  table: Table,
  { account, month, loadKeys }: FileTarget,
  local: LocalParquet,
  tags: Readonly<Record<string, string>>,
  now: number,
): Promise<NewFile> {
  const content = await hashed(local.path);
  const hash = content.sha256.slice(0, 16);
  const add = {
    path: `account=${account}/month=${month}/${prefix}${firstStart(loadKeys) ?? month}-${hash}.parquet`,
    partitionValues: { account, month },
    // The same rows in other files: who follows the table's changes has nothing to read.
    dataChange: false,
    content,
    rows: local.rows,
    stats: local.stats,
    tags: { ...tags, units: JSON.stringify(loadKeys) },
  };
  return { table, read: () => bytesOf(local), add: addOf(add, now) };
}

/**
 * Key-value metadata of a slice's files. No clock and no chance in it: the same slice gives the same bytes. It is one
 * pair, because the writer puts several in an order of its own that changes from file to file.
 */
export function fileMetadata(pipeline: string, account: string, window: string): ReadonlyMap<string, string> {
  return new Map([['ledgerlake', JSON.stringify({ version, account, pipeline, window })]]);
}
