import type { Lake } from '../lake.js';
import type { Store, StoredFile } from '../store/store.js';

/**
 * Files in the tables' folders that no log references and that are the lake's own, whoever left them and when; in an account's
 * folders whatever there is.
 */
export async function orphanFiles(lake: Lake, account: string): Promise<StoredFile[]> {
  const left: StoredFile[] = [];
  for (const table of lake.tables) {
    for await (const file of lake.store.list(table.schema.name)) {
      const isOf = file.path.startsWith(`${table.schema.name}/account=${account}/`);
      if ((isOf || isDataFile(file.path)) && table.fileAt(file.path) === undefined) left.push(file);
    }
  }
  return left;
}

/**
 * What the lake keeps beside its tables (at its root, under names that begin with `_`: journals, notes of runs) and that
 * belongs to an account, by a folder's or file's name or because it names the account. All of it is disposable.
 *
 * @param spare files that stay whatever they name
 */
export async function filesAboutAccount(
  store: Store,
  account: string,
  spare: ReadonlySet<string>,
): Promise<StoredFile[]> {
  const referencePipeline: StoredFile[] = [];
  const quoted = Buffer.from(JSON.stringify(account));
  for await (const file of store.list('')) {
    const { path } = file;
    if (!path.startsWith('_') || spare.has(path)) continue;
    const belongs = path.split('/').some((name) => name === account || name === `${account}.json`);
    // The journals of other accounts lie in folders of their own: only files right below the first folder tell of several.
    if (belongs || (path.split('/').length <= 2 && (await includes(store, path, quoted)))) referencePipeline.push(file);
  }
  return referencePipeline;
}

async function includes(store: Store, path: string, part: Buffer): Promise<boolean> {
  const bytes = await store.read(path);
  return bytes !== undefined && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(part);
}

/** Where tables' files lie, and how every one of them is named: at its end the beginning of its content's hash. */
const ownFile = /^[^/]+\/account=[^/]+\/month=[^/]+\/[^/]+-[0-9a-f]{16}(?:-\d+)?\.parquet$/;

/**
 * Whether a file may be one of the lake's own, as its path within the lake says. Whatever else somebody has put into its
 * folders is theirs, and no run deletes it.
 */
export function isDataFile(path: string): boolean {
  return ownFile.test(path);
}
