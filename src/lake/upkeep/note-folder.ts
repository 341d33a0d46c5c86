import { parseNote, type Store } from '../store/store.js';

/** A file of the folder. */
export interface StoredNote<T> {
  /** Within the lake. */
  readonly path: string;
  /** The name of the file without `.json`; empty for a file with another name. */
  readonly name: string;
  /** Undefined for a file that isn't valid. */
  readonly note: T | undefined;
}

interface NoteFile extends Pick<StoredNote<unknown>, 'path' | 'name'> {
  readonly size: number;
}

/** Limit of a note in a listing, above what a run writes. */
const mostBytes = 1_000_000;

/** Notes that are read at once. */
const mostAtOnce = 32;

/**
 * A folder of a lake with notes: small JSON files that aren't in the catalog. They are disposable, as the catalog has what is
 * loaded, and untrusted, as a lake may come from anybody: one that is damaged or invalid is as good as none.
 */
export class NoteFolder<T> {
  readonly folder: string;
  readonly #parse: (value: unknown) => T;

  /** @param parse throws for an invalid note */
  constructor(folder: string, parse: (value: unknown) => T) {
    this.folder = folder;
    this.#parse = parse;
  }

  /** Undefined where there is no valid note of this name. Throws a LedgerlakeError LAKE_STORE where the lake can't be read. */
  async read(store: Pick<Store, 'read'>, name: string): Promise<T | undefined> {
    return parseNote(await store.read(this.#pathOf(name)), this.#parse);
  }

  /**
   * Writes a note as JSON that people can read, in place of an earlier one of its name. Returns its path within the lake.
   *
   * @throws LedgerlakeError LAKE_STORE where the lake can't be written
   */
  async write(store: Pick<Store, 'write'>, name: string, note: object): Promise<string> {
    const path = this.#pathOf(name);
    await store.write(path, Buffer.from(`${JSON.stringify(note, undefined, 2)}\n`));
    return path;
  }

  /**
   * The notes of the folder in order, without those that are removed meanwhile. Throws as `read`.
   *
   * @param isAsked for a name; left out: all
   */
  async *all(
    store: Pick<Store, 'list' | 'read'>,
    isAsked: (name: string) => boolean = () => true,
  ): AsyncGenerator<StoredNote<T>> {
    const files: NoteFile[] = [];
    for await (const { path, size } of store.list(this.folder)) {
      const name = path.endsWith('.json') ? path.slice(this.folder.length + 1, -'.json'.length) : '';
      if (isAsked(name)) files.push({ path, name, size });
    }
    for (let at = 0; at < files.length; at += mostAtOnce) {
      const read = files.slice(at, at + mostAtOnce).map((file) => this.#stored(store, file));
      for (const stored of await Promise.all(read)) if (stored !== undefined) yield stored;
    }
  }

  async #stored(store: Pick<Store, 'read'>, { path, name, size }: NoteFile): Promise<StoredNote<T> | undefined> {
    if (name === '' || size > mostBytes) return { path, name, note: undefined };
    const bytes = await store.read(path);
    return bytes && { path, name, note: parseNote(bytes, this.#parse) };
  }

  #pathOf(name: string): string {
    return `${this.folder}/${name}.json`;
  }
}
