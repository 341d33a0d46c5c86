import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { publishedPath, commitPath } from '../../../src/lake/catalog/catalog-files.js';
import type { Change } from '../../../src/lake/catalog/change.js';
import { canonicalCommit, noHash, sealCommit, type Commit } from '../../../src/lake/catalog/commit.js';
import type { Add } from '../../../src/lake/delta/actions.js';
import { deltaCommit } from '../../../src/lake/publish/delta-commit.js';

/** The commits of a lake's catalog. */
export function commitsOf(root: string): Commit[] {
  const names = readdirSync(join(root, '_catalog')).filter((name) => /^\d{20}\.json$/.test(name));
  return names.toSorted().map((name) => JSON.parse(readFileSync(join(root, '_catalog', name), 'utf8')) as Commit);
}

/** Writes a whole catalog and its publications, with seals and hashes that hold. */
export function writeCommits(root: string, commits: readonly Commit[]): void {
  // What they came to before.
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (/\.checkpoint(\.parquet)?$|_last.checkpoint$/.test(path)) rmSync(join(root, path));
  }
  let previous = noHash;
  const published = new Map<string, number>();
  for (const [version, commit] of commits.entries()) {
    const sealed = sealCommit(canonicalCommit({ ...commit, version, previous }, commit));
    previous = sealed.hash;
    writeFileSync(join(root, commitPath(version)), sealed.bytes);
    for (const table of Object.keys(commit.tables)) {
      const own = published.get(table) ?? 0;
      writeFileSync(join(root, publishedPath(table, own)), deltaCommit(table, own, sealed, 'tests'));
      published.set(table, own + 1);
    }
  }
}

/** The files that a table has. */
export function addsOf(root: string, table: string): Add[] {
  const files = new Map<string, Add>();
  for (const { tables } of commitsOf(root)) {
    const { remove = [], add = [] } = tables[table] ?? {};
    for (const { path } of remove) files.delete(path);
    for (const file of add) files.set(file.path, file);
  }
  return [...files.values()];
}

/** The first file of a table, or the one whose path has `part`. */
export function addOf(root: string, table: string, part = ''): Add {
  const found = addsOf(root, table).find(({ path }) => path.includes(part));
  if (found === undefined) throw new Error(`no file of ${table} with ${part}`);
  return found;
}

export function pathOf(root: string, table: string, add: Add): string {
  return join(root, table, add.path);
}

/** Commits by hand, as a faulty program might. */
export function commitByHand(root: string, change: Change & Pick<Commit, 'tables'>): void {
  const commits = commitsOf(root);
  const [last] = commits.slice(-1);
  if (last === undefined) throw new Error('the lake has no commit');
  const { format, minReaderVersion, minWriterVersion, version, previous, run, nonce, at } = last;
  const header = { format, minReaderVersion, minWriterVersion, version: version + 1, previous, run, at };
  writeCommits(root, [...commits, { ...header, nonce: `${nonce}0`, operation: 'WRITE', ...change }]);
}

/** Writes over what the catalog says of a file. */
export function changeAdd(root: string, table: string, path: string, change: (add: Add) => Add): void {
  const changed = commitsOf(root).map((commit) => {
    const own = commit.tables[table];
    if (own?.add === undefined) return commit;
    const add = own.add.map((file) => (file.path === path ? change(file) : file));
    return { ...commit, tables: { ...commit.tables, [table]: { ...own, add } } };
  });
  writeCommits(root, changed);
}

export function changeTags(root: string, table: string, path: string, tags: Readonly<Record<string, string>>): void {
  changeAdd(root, table, path, (add) => ({ ...add, tags: { ...add.tags, ...tags } }));
}

/** Takes a file out of the catalog and its folder. */
export function removeByHand(root: string, table: string, { path, partitionValues, size }: Add): void {
  commitByHand(root, { tables: { [table]: { remove: [{ path, partitionValues, size, dataChange: true }] } } });
  rmSync(join(root, table, path));
}

/** What the log says of a file's bytes, made to fit them. */
export function sealed(root: string, table: string, add: Add): Add {
  const file = pathOf(root, table, add);
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
  return { ...add, size: statSync(file).size, tags: { ...add.tags, sha256 } };
}

/** Makes a file anew from a query over its rows (`rows`), and lets the log say that this is how it ought to be. */
export async function rewrite(root: string, table: string, add: Add, query: string): Promise<void> {
  const file = pathOf(root, table, add);
  const target = join(root, '..', 'rewritten.parquet');
  const database = await openDatabase();
  const source = `read_parquet(${literal(file)}, hive_partitioning = false)`;
  await database.execute(`COPY (WITH rows AS (FROM ${source}) ${query}) TO ${literal(target)} (FORMAT parquet)`);
  database.close();
  renameSync(target, file);
  changeAdd(root, table, add.path, (old) => sealed(root, table, old));
}
