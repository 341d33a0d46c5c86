import { hash } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { systemCode } from '../../core/errors.js';
import { makeFolders, readPlainFile, replaceFile } from '../../core/io/files.js';
import { isAlive, temporaryNames, thisWriter, writerOf } from '../../lake/store/writer-name.js';

/** A page as it was received. */
export interface JournalPage {
  /** The cursor that it was asked for with; undefined for the first page. */
  readonly cursor?: string | undefined;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Results a page that were asked for. */
  readonly pageSize: number;
  /** Of the answer: a cursor may be in one. */
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

export interface JournalOptions {
  /** Of one account. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long a cursor is accepted, milliseconds. */
  readonly cursorLifeMs: number;
  /** Takes the reason why pages can't be kept, once: the run continues without. */
  readonly warn: (reason: unknown) => void;
}

/** The pages of queries that aren't read to their end yet, by the queries' texts. */
export interface Journal {
  /** Queries of dead runs that can be continued, as their cursors are still accepted. */
  begun(): readonly string[];
  /** Takes over what a dead run has received of a query, in order; empty where there is nothing. */
  takeOver(query: string): Promise<readonly JournalPage[]>;
  /** Keeps a page behind those that were kept. */
  add(query: string, page: JournalPage): Promise<void>;
  /** Forgets the pages of a query: they are in the lake, or of no use. */
  drop(query: string): Promise<void>;
  /**
   * Forgets what dead runs have left and nobody has taken over, of queries that are over, and what has grown too old to be
   * continued. A run that came to its end had no use for it: most of it is in the lake, as a run can die between a commit and
   * dropping the pages.
   */
  sweep(isOver: (query: string) => boolean): Promise<void>;
  /** Forgets every page of dead runs, and of this one: they are of no use, as they are another account's. */
  clear(): Promise<void>;
}

/**
 * Opens a journal: a cache on the local disk of what was received and isn't in the lake yet, so that a crash costs no
 * page twice. Nothing in it counts as loaded, each page carries a hash, and all of it may be deleted at any time. What is
 * too old to be continued is removed.
 */
export async function openJournal({ folder, clock, cursorLifeMs, warn }: JournalOptions): Promise<Journal> {
  const name = temporaryNames(await thisWriter());
  const newFolder = (query: string) => join(folder, `${hash('sha256', query).slice(0, 16)}.${name()}`);
  const entries = new Map<string, { readonly folder: string; pages: number }>();
  let isBroken = false;
  const attempt = async <T>(what: () => Promise<T>, otherwise: T): Promise<T> => {
    if (isBroken) return otherwise;
    try {
      return await what();
    } catch (error) {
      isBroken = true;
      warn(error);
      return otherwise;
    }
  };
  const left = await attempt(() => leftOf(folder, clock.now() - cursorLifeMs), new Map<string, Left>());

  return {
    begun: () => [...left.keys()],
    takeOver: async (query) => {
      const found = left.get(query);
      if (found === undefined) return [];
      left.delete(query);
      const target = newFolder(query);
      // Another run may have been faster, and deleted it is nobody's loss either.
      const isOurs = await rename(found.folder, target).then(
        () => true,
        () => false,
      );
      if (!isOurs) return [];
      entries.set(query, { folder: target, pages: found.pages.length });
      return found.pages;
    },
    add: (query, page) =>
      attempt(async () => {
        const entry = entries.get(query) ?? { folder: newFolder(query), pages: 0 };
        if (!entries.has(query)) {
          await makeFolders(entry.folder, 0o700);
          entries.set(query, entry);
        }
        const path = join(entry.folder, `${String(entry.pages).padStart(5, '0')}.page`);
        entry.pages++;
        await replaceFile(path, encoded(query, page), 0o600);
      }, undefined),
    drop: (query) =>
      attempt(async () => {
        const entry = entries.get(query);
        entries.delete(query);
        if (entry !== undefined) await rm(entry.folder, { recursive: true, force: true });
      }, undefined),
    sweep: (isOver) =>
      attempt(async () => {
        const since = clock.now() - cursorLifeMs;
        for (const [query, found] of left) {
          const isAlive = (found.pages.at(-1)?.receivedAt ?? -Infinity) >= since;
          if (isAlive && !isOver(query)) continue;
          left.delete(query);
          await rm(found.folder, { recursive: true, force: true });
        }
      }, undefined),
    clear: () =>
      attempt(async () => {
        const folders = [...left.values(), ...entries.values()].map((entry) => entry.folder);
        left.clear();
        entries.clear();
        for (const path of folders) await rm(path, { recursive: true, force: true });
      }, undefined),
  };
}

interface Left {
  readonly folder: string;
  readonly pages: readonly JournalPage[];
}

/** What dead runs have left that was received since an instant, by query; the rest of it is removed. */
async function leftOf(folder: string, since: number): Promise<Map<string, Left>> {
  const left = new Map<string, Left>();
  for (const entry of await namesIn(folder)) {
    const writer = writerOf(entry.slice(entry.indexOf('.') + 1));
    if (writer === undefined) continue;
    const { host } = await thisWriter();
    // What another host or a living process is at work on is theirs.
    if (writer.host !== host || (await isAlive(writer))) continue;
    const path = join(folder, entry);
    const { query, pages } = await readEntry(path);
    const newest = pages.at(-1)?.receivedAt ?? -Infinity;
    const other = query === undefined ? undefined : left.get(query);
    if (query === undefined || newest < since || (other !== undefined && other.pages.length >= pages.length)) {
      await rm(path, { recursive: true, force: true });
      continue;
    }
    if (other !== undefined) await rm(other.folder, { recursive: true, force: true });
    left.set(query, { folder: path, pages });
  }
  return left;
}

/** The pages of an entry up to the first that is missing or damaged. */
async function readEntry(folder: string): Promise<{ query: string | undefined; pages: JournalPage[] }> {
  const pages: JournalPage[] = [];
  let query: string | undefined;
  // A run that is killed while it writes a page leaves a part of the file beside it.
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.page')).toSorted();
  for (const name of names) {
    if (name !== `${String(pages.length).padStart(5, '0')}.page`) break;
    const bytes = await readPlainFile(join(folder, name));
    const page = bytes && decoded(bytes);
    if (page === undefined || (query !== undefined && page.query !== query)) break;
    query = page.query;
    pages.push(page);
  }
  return { query, pages };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function encoded(query: string, { cursor, headers, body, receivedAt, pageSize }: JournalPage): Uint8Array {
  // A session cookie is a secret, and has no cursor.
  const kept = [...headers].filter(([name]) => name !== 'set-cookie');
  const header: Header = {
    query,
    cursor: cursor ?? null,
    receivedAt,
    pageSize,
    headers: kept,
    sha256: hash('sha256', body),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

function decoded(bytes: Uint8Array): (JournalPage & { readonly query: string }) | undefined {
  const end = bytes.indexOf(0x0a);
  if (end === -1) return undefined;
  const body = bytes.subarray(end + 1);
  let header: Partial<Header>;
  try {
    header = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as Partial<Header>;
  } catch {
    // Cut off or changed: the page is asked for again.
    return undefined;
  }
  const { query, cursor, receivedAt, pageSize, headers } = header;
  if (header.sha256 !== hash('sha256', body) || query === undefined) return undefined;
  if (receivedAt === undefined || pageSize === undefined || headers === undefined) return undefined;
  return { query, cursor: cursor ?? undefined, receivedAt, pageSize, headers: new Map(headers), body };
}
