import { shortHash } from '../../core/short-hash.js';
import { hash } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { systemCode } from '../../core/errors.js';
import { readPlainFile } from '../../core/io/files.js';
import { below, checkedPath, makeFoldersBelow, refuseLinks, type PathBelow } from '../../core/io/links.js';
import { replaceFile } from '../../core/io/write-file.js';
import { isRunning, temporaryNames, thisWriter, writerOf } from '../../lake/store/writer-name.js';

/** A received page. */
export interface JournaledPage {
  /** The cursor of its request; undefined for the first page. */
  readonly cursor?: string | undefined;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Requested results a page. */
  readonly pageSize: number;
  /** Of the answer: one may contain a cursor. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** The first line of a page's file, before the body. */
interface Header {
  readonly query: string;
  readonly cursor: string | null;
  readonly receivedAt: number;
  readonly pageSize: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** SHA-256 of the body, in hex. */
  readonly sha256: string;
}

interface PageJournalOptions {
  /** Of one account. */
  readonly folder: PathBelow;
  readonly clock: Clock;
  /** How long a cursor is accepted, milliseconds. */
  readonly cursorLifeMs: number;
  /** Called once with the reason why pages can't be stored; the run continues without. */
  readonly warn: (reason: unknown) => void;
}

/** The received pages of unfinished queries, by the queries' texts. */
export interface PageJournal {
  /** Queries of dead runs that can be resumed, as their cursors are still accepted. */
  begun(): readonly string[];
  /** Takes over the pages that a dead run received of a query, in order; empty without any. */
  takeOver(query: string): Promise<readonly JournaledPage[]>;
  /** Appends a page to those of a query. */
  add(query: string, page: JournaledPage): Promise<void>;
  /** Removes the pages of a query: they are committed, or useless. */
  drop(query: string): Promise<void>;
  /**
   * Removes the pages that dead runs left and no query took over: those of finished queries, and expired ones. A completed run
   * didn't need them: most are committed, since a run can die between a commit and dropping the pages.
   */
  sweep(isOver: (query: string) => boolean): Promise<void>;
  /** Removes every page of dead runs and of this one: they belong to another account. */
  clear(): Promise<void>;
}

/**
 * Opens a page journal: a cache on the local disk of received pages that aren't committed yet, so that a crash costs no request
 * twice. Nothing in it counts as loaded, each page carries a hash, and all of it may be deleted at any time. Pages that are
 * too old to be resumed are removed.
 */
export async function openPageJournal(options: PageJournalOptions): Promise<PageJournal> {
  const pageJournal = new DiskPageJournal(options, temporaryNames(await thisWriter()));
  await pageJournal.open();
  return pageJournal;
}

/** Pages in a folder for each query. After the first I/O error it does nothing. */
class DiskPageJournal implements PageJournal {
  readonly #options: PageJournalOptions;
  /** Gives each folder a suffix that names this process. */
  readonly #suffix: () => string;
  /** Pages of this run. */
  readonly #entries = new Map<string, { readonly folder: PathBelow; pages: number }>();
  /** Pages of dead runs. */
  #orphans = new Map<string, OrphanedPages>();
  #isBroken = false;

  constructor(options: PageJournalOptions, suffix: () => string) {
    this.#options = options;
    this.#suffix = suffix;
  }

  async open(): Promise<void> {
    await this.#attempt(async () => {
      this.#orphans = await orphansIn(this.#options.folder, this.#expiredBefore());
    });
  }

  begun(): readonly string[] {
    return [...this.#orphans.keys()];
  }

  async takeOver(query: string): Promise<readonly JournaledPage[]> {
    const found = this.#orphans.get(query);
    if (found === undefined) return [];
    this.#orphans.delete(query);
    const folder = this.#newFolder(query);
    // Fails where another run was faster, or the folder was deleted.
    const isTaken = await renameFolder(found.folder, folder).then(
      () => true,
      () => false,
    );
    if (!isTaken) return [];
    this.#entries.set(query, { folder, pages: found.pages.length });
    return found.pages;
  }

  add(query: string, page: JournaledPage): Promise<void> {
    return this.#attempt(async () => {
      const entry = this.#entries.get(query) ?? { folder: this.#newFolder(query), pages: 0 };
      if (!this.#entries.has(query)) {
        await makeFoldersBelow(entry.folder);
        this.#entries.set(query, entry);
      }
      const file = below(entry.folder, pageFile(entry.pages++));
      await replaceFile(checkedPath(file), encoded(query, page), 0o600);
    });
  }

  drop(query: string): Promise<void> {
    return this.#attempt(async () => {
      const entry = this.#entries.get(query);
      this.#entries.delete(query);
      if (entry !== undefined) await remove(entry.folder);
    });
  }

  sweep(isOver: (query: string) => boolean): Promise<void> {
    return this.#attempt(async () => {
      const oldest = this.#expiredBefore();
      for (const [query, { folder, pages }] of this.#orphans) {
        if (newestOf(pages) >= oldest && !isOver(query)) continue;
        this.#orphans.delete(query);
        await remove(folder);
      }
    });
  }

  clear(): Promise<void> {
    return this.#attempt(async () => {
      const folders = [...this.#orphans.values(), ...this.#entries.values()].map(({ folder }) => folder);
      this.#orphans.clear();
      this.#entries.clear();
      for (const folder of folders) await remove(folder);
    });
  }

  #newFolder(query: string): PathBelow {
    return below(this.#options.folder, `${shortHash(query)}.${this.#suffix()}`);
  }

  /** Pages received before this instant can't be resumed. */
  #expiredBefore(): number {
    return this.#options.clock.now() - this.#options.cursorLifeMs;
  }

  async #attempt(action: () => Promise<void>): Promise<void> {
    if (this.#isBroken) return;
    try {
      await action();
    } catch (error) {
      this.#isBroken = true;
      this.#options.warn(error);
    }
  }
}

interface OrphanedPages {
  readonly folder: PathBelow;
  readonly pages: readonly JournaledPage[];
}

function pageFile(index: number): string {
  return `${String(index).padStart(5, '0')}.page`;
}

/** When the last page was received; -Infinity without pages. */
function newestOf(pages: readonly JournaledPage[]): number {
  return pages.at(-1)?.receivedAt ?? -Infinity;
}

/** Where the folder is a link, only the link is removed. */
async function remove(folder: PathBelow): Promise<void> {
  await rm(checkedPath(folder), { recursive: true, force: true });
}

async function renameFolder(from: PathBelow, to: PathBelow): Promise<void> {
  refuseLinks(from.root, from.path);
  await rename(checkedPath(from), checkedPath(to));
}

/** The pages of dead runs with one received since an instant, by query; removes the others. */
async function orphansIn(folder: PathBelow, since: number): Promise<Map<string, OrphanedPages>> {
  const orphans = new Map<string, OrphanedPages>();
  for (const { name: entry, isFolder } of await entriesIn(folder)) {
    const writer = writerOf(entry.slice(entry.indexOf('.') + 1));
    if (writer === undefined || !isFolder) continue;
    const { machine } = await thisWriter();
    // A process of another machine may be running.
    if (writer.machine !== machine || (await isRunning(writer))) continue;
    const path = below(folder, entry);
    const { query, pages } = await readEntry(path);
    const other = query === undefined ? undefined : orphans.get(query);
    const isShorter = other !== undefined && other.pages.length >= pages.length;
    if (query === undefined || newestOf(pages) < since || isShorter) {
      await remove(path);
      continue;
    }
    if (other !== undefined) await remove(other.folder);
    orphans.set(query, { folder: path, pages });
  }
  return orphans;
}

/** The pages of an entry up to the first that is missing or damaged. */
async function readEntry(folder: PathBelow): Promise<{ query: string | undefined; pages: JournaledPage[] }> {
  const pages: JournaledPage[] = [];
  let query: string | undefined;
  // A run that was killed while writing leaves a temporary file beside the pages.
  const names = (await entriesIn(folder)).map(({ name }) => name).filter((name) => name.endsWith('.page'));
  for (const name of names.toSorted()) {
    if (name !== pageFile(pages.length)) break;
    const bytes = await readPlainFile(checkedPath(below(folder, name)));
    const page = bytes && decoded(bytes);
    if (page === undefined || (query !== undefined && page.query !== query)) break;
    query = page.query;
    pages.push(page);
  }
  return { query, pages };
}

async function entriesIn({ root, path }: PathBelow): Promise<{ readonly name: string; readonly isFolder: boolean }[]> {
  try {
    refuseLinks(root, path);
    const entries = await readdir(join(root, path), { withFileTypes: true });
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function encoded(query: string, { cursor, headers, body, receivedAt, pageSize }: JournaledPage): Uint8Array {
  // A session cookie is a secret, and has no cursor.
  const stored = [...headers].filter(([name]) => name !== 'set-cookie');
  const header: Header = {
    query,
    cursor: cursor ?? null,
    receivedAt,
    pageSize,
    headers: stored,
    sha256: hash('sha256', body),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

function decoded(bytes: Uint8Array): (JournaledPage & { readonly query: string }) | undefined {
  const end = bytes.indexOf(0x0a);
  if (end === -1) return undefined;
  const body = bytes.subarray(end + 1);
  let header: Partial<Header>;
  try {
    header = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as Partial<Header>;
  } catch {
    // Truncated or damaged: the page is requested again.
    return undefined;
  }
  const { query, cursor, receivedAt, pageSize, headers } = header;
  if (header.sha256 !== hash('sha256', body) || query === undefined) return undefined;
  if (receivedAt === undefined || pageSize === undefined || headers === undefined) return undefined;
  return { query, cursor: cursor ?? undefined, receivedAt, pageSize, headers: new Map(headers), body };
}
