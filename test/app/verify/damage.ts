import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { encodeActions, type Action, type Add } from '../../../src/lake/delta/actions.js';

function logFolder(root: string, table: string): string {
  return join(root, table, '_delta_log');
}

function commits(root: string, table: string): { path: string; actions: Action[] }[] {
  const folder = logFolder(root, table);
  const names = readdirSync(folder)
    .filter((name) => /^\d{20}\.json$/.test(name))
    .toSorted();
  return names.map((name) => {
    const path = join(folder, name);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    return { path, actions: lines.map((line) => JSON.parse(line) as Action) };
  });
}

/** With the checksum of what it says now. */
function write(path: string, actions: readonly Action[]): void {
  const table = basename(dirname(dirname(path)));
  writeFileSync(path, encodeActions(actions, { table, version: Number.parseInt(basename(path), 10) }));
}

/** The files that a table's log names; the lakes of these tests have no checkpoint. */
export function addsOf(root: string, table: string): Add[] {
  const files = new Map<string, Add>();
  for (const { actions } of commits(root, table)) {
    for (const action of actions) {
      if ('add' in action) files.set(action.add.path, action.add);
      if ('remove' in action) files.delete(action.remove.path);
    }
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

/** Commits by hand, as another program might. */
export function commitByHand(root: string, table: string, actions: readonly Action[]): void {
  const version = commits(root, table).length;
  write(join(logFolder(root, table), `${String(version).padStart(20, '0')}.json`), actions);
}

/** Writes over what the log says of a file. */
export function changeAdd(root: string, table: string, path: string, change: (add: Add) => Add): void {
  for (const commit of commits(root, table)) {
    const changed = commit.actions.map((action) =>
      'add' in action && action.add.path === path ? { add: change(action.add) } : action,
    );
    write(commit.path, changed);
  }
}

export function changeTags(root: string, table: string, path: string, tags: Readonly<Record<string, string>>): void {
  changeAdd(root, table, path, (add) => ({ ...add, tags: { ...add.tags, ...tags } }));
}

/** Takes a file out of its table's log and its folder. */
export function removeByHand(root: string, table: string, add: Add): void {
  commitByHand(root, table, [{ remove: { path: add.path, deletionTimestamp: 0, dataChange: true } }]);
  rmSync(pathOf(root, table, add));
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
