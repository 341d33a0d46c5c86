import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { readPlainFile } from '../../core/io/plain-file.js';
import { isAlive, temporaryNames, thisWriter, writerOf } from '../../lake/store/writer-name.js';

/** A page as it was received. */
export interface JournalPage {
  /** The token that it was asked for with; undefined for the first page. */
  readonly asked: string | undefined;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Results a page that were asked for. */
  readonly pageSize: number;
  readonly body: Uint8Array;
}

/** What stands before the body, on a line of its own. */
interface Header {
  readonly question: string;
  readonly asked: string | null;
  readonly receivedAt: number;
  readonly pageSize: number;
  /** SHA-256 of the body, in hex. */
  readonly sha256: string;
}

export interface JournalOptions {
  /** Of one account. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long the token on a page can be gone on with, milliseconds. */
  readonly tokenLifeMs: number;
  /** Told once where pages can't be kept: the run goes on without. */
  readonly warn: (reason: unknown) => void;
}

/** The pages of questions that aren't read to their end yet, by the questions' texts. */
export interface Journal {
  /** Questions of dead runs that can be gone on with, as their tokens still live. */
  begun(): readonly string[];
  /** Takes over what a dead run has received of a question, in order; empty where there is nothing. */
  takeOver(question: string): Promise<readonly JournalPage[]>;
  /** Keeps a page behind those that were kept. */
  add(question: string, page: JournalPage): Promise<void>;
  /** Forgets the pages of a question: they are in the lake, or of no use. */
  drop(question: string): Promise<void>;
  /**
   * Forgets what dead runs have left and nobody has taken over, of questions that are over, and what has grown too old to be
   * gone on with. A run that came to its end had no use for it: most of it is in the lake, as a run can die between a commit
   * and dropping the pages.
   */
  sweep(isOver: (question: string) => boolean): Promise<void>;
}

/**
 * Opens a journal: a cache on the local disk of what was received and isn't in the lake yet, so that a crash costs no
 * page twice. Nothing in it counts as loaded, each page carries a hash, and all of it may be deleted at any time. What is
 * too old to be gone on with is removed.
 */
export async function openJournal({ folder, clock, tokenLifeMs, warn }: JournalOptions): Promise<Journal> {
  const name = temporaryNames(await thisWriter());
  const own = new Map<string, { readonly folder: string; pages: number }>();
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
  const left = await attempt(() => leftOf(folder, clock.now() - tokenLifeMs), new Map<string, Left>());

  return {
    begun: () => [...left.keys()],
    takeOver: async (question) => {
      const found = left.get(question);
      if (found === undefined) return [];
      left.delete(question);
      const target = join(folder, `${hashOf(question)}.${name()}`);
      // Another run may have been faster, and deleted it is nobody's loss either.
      const isOurs = await rename(found.folder, target).then(
        () => true,
        () => false,
      );
      if (!isOurs) return [];
      own.set(question, { folder: target, pages: found.pages.length });
      return found.pages;
    },
    add: (question, page) =>
      attempt(async () => {
        const entry = own.get(question) ?? { folder: join(folder, `${hashOf(question)}.${name()}`), pages: 0 };
        if (!own.has(question)) {
          await mkdir(entry.folder, { recursive: true, mode: 0o700 });
          own.set(question, entry);
        }
        const path = join(entry.folder, `${String(entry.pages).padStart(5, '0')}.page`);
        entry.pages++;
        await writeFile(`${path}.part`, encoded(question, page), { mode: 0o600 });
        await rename(`${path}.part`, path);
      }, undefined),
    drop: (question) =>
      attempt(async () => {
        const entry = own.get(question);
        own.delete(question);
        if (entry !== undefined) await rm(entry.folder, { recursive: true, force: true });
      }, undefined),
    sweep: (isOver) =>
      attempt(async () => {
        const since = clock.now() - tokenLifeMs;
        for (const [question, found] of left) {
          const isAlive = (found.pages.at(-1)?.receivedAt ?? -Infinity) >= since;
          if (isAlive && !isOver(question)) continue;
          left.delete(question);
          await rm(found.folder, { recursive: true, force: true });
        }
      }, undefined),
  };
}

interface Left {
  readonly folder: string;
  readonly pages: readonly JournalPage[];
}

/** What dead runs have left that was received since an instant, by question; the rest of it is removed. */
async function leftOf(folder: string, since: number): Promise<Map<string, Left>> {
  const left = new Map<string, Left>();
  for (const entry of await namesIn(folder)) {
    const writer = writerOf(entry.slice(entry.indexOf('.') + 1));
    if (writer === undefined) continue;
    const { host } = await thisWriter();
    // What another host or a living process is at work on is theirs.
    if (writer.host !== host || (await isAlive(writer))) continue;
    const path = join(folder, entry);
    const { question, pages } = await readEntry(path);
    const newest = pages.at(-1)?.receivedAt ?? -Infinity;
    const other = question === undefined ? undefined : left.get(question);
    if (question === undefined || newest < since || (other !== undefined && other.pages.length >= pages.length)) {
      await rm(path, { recursive: true, force: true });
      continue;
    }
    if (other !== undefined) await rm(other.folder, { recursive: true, force: true });
    left.set(question, { folder: path, pages });
  }
  return left;
}

/** The pages of an entry up to the first that is missing or damaged. */
async function readEntry(folder: string): Promise<{ question: string | undefined; pages: JournalPage[] }> {
  const pages: JournalPage[] = [];
  let question: string | undefined;
  for (const name of (await namesIn(folder)).toSorted()) {
    if (name !== `${String(pages.length).padStart(5, '0')}.page`) break;
    const bytes = await readPlainFile(join(folder, name));
    const page = bytes && decoded(bytes);
    if (page === undefined || (question !== undefined && page.question !== question)) break;
    question = page.question;
    pages.push(page);
  }
  return { question, pages };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function encoded(question: string, { asked, receivedAt, pageSize, body }: JournalPage): Uint8Array {
  const header: Header = { question, asked: asked ?? null, receivedAt, pageSize, sha256: sha256(body) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

function decoded(bytes: Uint8Array): (JournalPage & { readonly question: string }) | undefined {
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
  const { question, asked, receivedAt, pageSize } = header;
  if (header.sha256 !== sha256(body) || question === undefined) return undefined;
  if (receivedAt === undefined || pageSize === undefined) return undefined;
  return { question, asked: asked ?? undefined, receivedAt, pageSize, body };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function hashOf(question: string): string {
  return createHash('sha256').update(question).digest('hex').slice(0, 16);
}
