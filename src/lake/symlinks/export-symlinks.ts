import type { Table } from '../../core/columns/table.js';
import { hash } from 'node:crypto';
import { z } from 'zod';
import { groupBy } from '../../core/group-by.js';
import type { Lake } from '../lake.js';
import { parseNote, type Store, type StoredFile } from '../store/store.js';
import { symlinkFolder } from '../data-files.js';
import { type Exported, exportTables, locationOf } from '../table-export.js';

/**
 * Writes the symlink manifests of every table, as Delta's `symlink_format_manifest`: `TABLE/_symlink_format_manifest/`
 * has a file `manifest` for each partition, with the absolute addresses of the committed data files, one a line. Each
 * is written atomically; unchanged ones are skipped, and those of removed partitions are deleted.
 *
 * @throws LedgerlakeError as the store and the log do; a repeated call continues
 */
export function exportSymlinks(lake: Lake): Promise<Exported> {
  return exportTables(lake, (table) => exportTable(lake, table));
}

/** The note of the manifests as they were written, so that the next export needn't read them. */
const noteSchema = z.record(z.string(), z.object({ sha256: z.string(), size: z.number(), modifiedAt: z.number() }));
type Note = z.infer<typeof noteSchema>;

/** Returns the number of bytes written; undefined where all manifests are up to date. */
async function exportTable(lake: Lake, table: Table): Promise<number | undefined> {
  const { store } = lake;
  const folder = `${table.name}/${symlinkFolder}`;
  const notePath = `${folder}/_state.json`;
  const previous: Note = parseNote(await store.read(notePath), (value) => noteSchema.parse(value)) ?? {};
  /** Hashes of the manifests that this export has written, by path. */
  const written = new Map<string, string>();
  let bytes: number | undefined;
  // Repeated until nothing is left to do, because a run or another export may write concurrently.
  for (;;) {
    await lake.refresh();
    const wanted = manifestsOf(lake, table, folder);
    const stored = new Map<string, StoredFile>();
    for await (const file of store.list(folder)) if (file.path !== notePath) stored.set(file.path, file);
    const obsolete = [...stored.keys()].filter((path) => !wanted.has(path));
    const stale = [...wanted].filter(([path, text]) => {
      const [file, note, sha256] = [stored.get(path), previous[path], hash('sha256', text)];
      if (file === undefined) return true;
      if (written.get(path) === sha256) return file.size !== Buffer.byteLength(text);
      return note?.sha256 !== sha256 || note.size !== file.size || note.modifiedAt !== file.modifiedAt;
    });
    if (obsolete.length === 0 && stale.length === 0) {
      if (bytes !== undefined) await writeNote(store, notePath, wanted, stored);
      return bytes;
    }
    bytes ??= 0;
    for (const [path, text] of stale) {
      await store.write(path, Buffer.from(text));
      written.set(path, hash('sha256', text));
      bytes += Buffer.byteLength(text);
    }
    for (const path of obsolete) await store.remove(path);
  }
}

async function writeNote(
  store: Store,
  path: string,
  wanted: ReadonlyMap<string, string>,
  stored: ReadonlyMap<string, StoredFile>,
): Promise<void> {
  const note: Note = {};
  for (const [manifest, text] of wanted) {
    const { size = 0, modifiedAt = 0 } = stored.get(manifest) ?? {};
    note[manifest] = { sha256: hash('sha256', text), size, modifiedAt };
  }
  await store.write(path, Buffer.from(JSON.stringify(note)));
}

/** The text of each partition's manifest, by its path within the lake. */
function manifestsOf({ store, snapshot }: Lake, { name }: Table, folder: string): ReadonlyMap<string, string> {
  const paths = [...snapshot.files(name)].map((file) => file.lakePath);
  const byManifest = groupBy(paths, (path) => {
    const partition = path.slice(name.length + 1, path.lastIndexOf('/'));
    return `${folder}/${partition}/manifest`;
  });
  return new Map(
    [...byManifest].map(([manifest, listed]) => {
      const lines = listed.map((path) => locationOf(store, path)).toSorted();
      return [manifest, lines.map((line) => `${line}\n`).join('')];
    }),
  );
}
