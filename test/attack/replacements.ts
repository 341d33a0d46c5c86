import { statedRows, readFooter } from '../../src/core/parquet/footer.js';
import { blobOf } from '../../src/core/parquet/parquet-source.js';
import type { Database } from '../../src/core/duckdb/connection.js';
import { duckdbFiles, otherFiles, wasmFiles, type ForeignFile } from '../core/parquet/foreign-files.js';
import {
  bombs,
  cutFiles,
  deepFooters,
  filledUp,
  firstPagesOf,
  footerLies,
  noParquet,
  pageLies,
} from '../core/parquet/hostile-files.js';
import type { Random } from './random.js';

/** What stands in the place of a Parquet file: a sound file at `path`. */
interface Replaced {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly database: Database;
  /** For files that DuckDB writes. */
  readonly folder: string;
}

const kinds: Readonly<Record<string, (of: Replaced) => readonly ForeignFile[] | Promise<readonly ForeignFile[]>>> = {
  'the same rows': async ({ database, path, bytes, folder }) => [
    ...(await duckdbFiles(database, path, folder)),
    ...wasmFiles(bytes, { texts: [], integers: [] }),
  ],
  'other rows': ({ database, folder }) => otherFiles(database, folder),
  cut: ({ bytes }) => cutFiles(bytes),
  'no Parquet': ({ bytes }) => noParquet(bytes),
  'a lie in the footer': ({ bytes }) => footerLies(bytes),
  'a lie in a page': async ({ bytes }) => pageLies(bytes, await firstPagesOf(bytes)),
  'an endless footer': () => deepFooters(),
  'a bomb': async ({ bytes }) => {
    const rows = statedRows(await readFooter(await blobOf(bytes)));
    return [...bombs('raw', 'another'), ...bombs('raw', 'another', rows), ...bombs('event_id', 'another', rows)];
  },
};

/** A file in the place of a sound one: often as large. Of each kind comes as many. */
export async function replacement(replaced: Replaced, random: Random): Promise<ForeignFile> {
  const kind = random.of(Object.keys(kinds));
  const { name, bytes } = random.of((await kinds[kind]?.(replaced)) ?? []);
  const { length } = replaced.bytes;
  const isFilled = random.chance(0.7) && bytes.length >= 12 && bytes.length < length;
  return { name: `${kind} (${name.slice(0, 100)})`, bytes: isFilled ? filledUp(bytes, length) : bytes };
}
