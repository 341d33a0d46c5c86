import { createHash } from 'node:crypto';
import { ReadFailure } from '../../engine/retry/read-failure.js';
import { waitWarning } from '../../engine/retry/wait-warning.js';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Journal } from '../../engine/journal/journal.js';
import type { KeptQuota } from '../../engine/rate-limit/kept-quota.js';
import { pacedQueue } from '../../engine/rate-limit/paced-queue.js';
import type { Pace, Reading } from '../../engine/run/pipeline.js';
import { readWindow, unitOf } from '../../engine/run/window-slices.js';
import type { Window } from '../../core/windows.js';
import type { ApiAddress } from './api-address.js';
import { called } from './called.js';
import type { AskedWindow, Json } from './definition.js';
import type { LoadedDefinition } from './load-definitions.js';
import { receivedPage, type Received } from './received-page.js';
import { requestAddress } from './request-address.js';
import { ownRequests } from './requests.js';

/** A page, and its records. */
export interface OwnPage {
  readonly records: readonly Json[];
}

export interface OwnConnectionOptions {
  readonly address: ApiAddress;
  readonly clock: Clock;
  /** From 0 up to 1: spreads what is tried again. */
  readonly random: () => number;
  /** What the bucket held when the last run ended, and where this one's is kept. */
  readonly kept?: KeptQuota | undefined;
  /** Pages of windows that are open, for the next run should this one die. */
  readonly journal?: Journal | undefined;
  /** Takes what becomes of the bucket, and of long waits. */
  readonly emit: Emit;
}

/** A user's API as a pipeline reads it. */
export interface OwnConnection {
  /** The pages of a window in order, as `Pipeline.pages`. */
  pages(window: Window, reading: Reading<unknown>): AsyncIterable<OwnPage>;
  pace(): Pace | undefined;
  begun(): readonly Window[];
  /** Forgets the pages that dead runs have left of this API, once a run has come to its end. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export const defaultPageSize = 100;
const defaultLifeMinutes = 3;
/** A cursor must last until its request has had its turn. */
const lifeMarginMs = 30_000;
/** Pages without a record are normal, but so many in a row come from an API that runs in a circle. */
const mostEmptyPages = 1000;

/** How long what `next` gives can be gone on with. */
export function cursorLifeMs({ definition: { api } }: LoadedDefinition): number {
  return (api.cursorLifeMinutes ?? defaultLifeMinutes) * 60_000;
}

/** Connects to a user's API: its requests, their queue with a bucket, and the journal of their pages. */
export function connectOwn(
  loaded: LoadedDefinition,
  { address, clock, random, kept, journal, emit }: OwnConnectionOptions,
): OwnConnection {
  const { file, definition } = loaded;
  const { name, api } = definition;
  const { pageSize = defaultPageSize, quota } = api;
  const queue = pacedQueue({ name, quota, clock, tokenLifeMs: cursorLifeMs(loaded), kept, emit });
  const requests = ownRequests(loaded, { address, queue, clock, random, waiting: waitWarning(clock, emit) });
  const service = `${createHash('sha256').update(`${address.origin}${address.prefix} ${name}`).digest('hex').slice(0, 16)} `;

  const nextOf = ({ page }: Received): string | undefined => {
    const next = called(file, 'next', () => definition.next?.(page));
    return next === undefined ? undefined : requestAddress(file, address, next, page.request);
  };

  /** What a run that died has received, as far as the definition still asks for it in this way. */
  const takenOver = async (question: string, first: string, asked: AskedWindow): Promise<readonly Received[]> => {
    const pages = (await journal?.takeOver(question)) ?? [];
    const received: Received[] = [];
    let expected: string | undefined = first;
    for (const { asked: note, body } of pages) {
      const [request, sent] = readNote(note);
      if (request === undefined || request !== expected) break;
      const known = receivedPage(loaded, request, asked, body, sent);
      received.push(known);
      expected = nextOf(known);
    }
    const isStale = clock.now() - (pages.at(-1)?.receivedAt ?? 0) > cursorLifeMs(loaded) - lifeMarginMs;
    if (received.length === pages.length && (expected === undefined || !isStale)) return received;
    await journal?.drop(question);
    return [];
  };

  return {
    pages: async function* (window, reading) {
      const question = service + unitOf(window);
      reading.committed(async () => journal?.drop(question));
      const bounds = { from: new Date(window.start), to: new Date(window.end), account: reading.account, pageSize };
      const first = requestAddress(
        file,
        address,
        called(file, 'first', () => definition.first(bounds)),
      );
      const known = await takenOver(question, first, bounds);
      const asked = new Set(known.map(({ page }) => page.request));
      let empty = 0;
      yield* known;
      const last = known.at(-1);
      try {
        for (let next = last === undefined ? first : nextOf(last); next !== undefined;) {
          if (asked.has(next) || empty > mostEmptyPages) throw inCircle(name, asked.size);
          asked.add(next);
          const received = await requests.ask(next, bounds, reading);
          await journal?.add(question, {
            asked: noteOf(next, received.headers),
            receivedAt: clock.now(),
            pageSize,
            body: received.body,
          });
          reading.counts.pages++;
          empty = received.records.length === 0 ? empty + 1 : 0;
          yield received;
          next = nextOf(received);
        }
      } catch (error) {
        // It will be read from its beginning, or in parts.
        if (error instanceof ReadFailure) await journal?.drop(question);
        throw error;
      }
    },
    pace: () => requests.pace(),
    begun: () =>
      (journal?.begun() ?? []).flatMap((question) =>
        question.startsWith(service) ? (readWindow(question.slice(service.length)) ?? []) : [],
      ),
    // What was left behind at another address is another API's.
    sweep: async () => journal?.sweep((question) => question.startsWith(service)),
    close: async () => {
      await requests.close();
      await kept?.flush();
    },
  };
}

/** A request and the headers of its answer as the journal keeps them: a link may stand in one. */
function noteOf(request: string, headers: ReadonlyMap<string, string>): string {
  return JSON.stringify([request, [...headers].filter(([name]) => name !== 'set-cookie')]);
}

/** The journal's hash covers the page and not this: what can't be read is asked for again. */
function readNote(note: string | undefined): readonly [string | undefined, ReadonlyMap<string, string>] {
  try {
    const [request, headers] = JSON.parse(note ?? '[]') as [string?, [string, string][]?];
    return [request, new Map(headers)];
  } catch {
    return [undefined, new Map()];
  }
}

function inCircle(name: string, pages: number): ReadFailure {
  const message =
    `Expected page ${pages} of ${name} to end the list or to lead to a new page, it leads to one that was read, or there ` +
    'were a thousand without a record. Check `next` of the definition, or try again later.';
  return new ReadFailure('loop', 'UPSTREAM_BODY', message, { pages });
}
