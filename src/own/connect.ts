import { createHash } from 'node:crypto';
import { attemptTable } from '../attempts/attempt-table.js';
import type { Cause } from '../attempts/cause.js';
import { isHtml } from '../attempts/excerpt.js';
import { backOff, retryAfterMs } from '../attempts/pauses.js';
import { ReadFailure } from '../attempts/read-failure.js';
import { requestText, retried } from '../attempts/retried.js';
import { transportCause } from '../attempts/transport-cause.js';
import type { Clock } from '../clock.js';
import { LedgerlakeError } from '../errors.js';
import { createTransport } from '../http/agent.js';
import type { Journal } from '../journal/journal.js';
import { scan } from '../json/scan.js';
import { Tape } from '../json/tape.js';
import { TokenBucket } from '../quota/bucket.js';
import type { KeptQuota } from '../quota/kept-quota.js';
import { RequestQueue } from '../quota/queue.js';
import { isWorthPacing } from '../quota/worth-pacing.js';
import type { Pace, Reading } from '../run/pipeline.js';
import { readWindow, unitOf } from '../run/window-slices.js';
import type { Window } from '../run/windows.js';
import { Secret } from '../sign-in/secret.js';
import { withoutSecret } from '../sign-in/without-secret.js';
import { ApiRefusal, apiRefusal } from './api-refusal.js';
import type { ApiAddress } from './api-settings.js';
import { called, definitionError } from './called.js';
import type { AskedWindow, Json, Page } from './definition.js';
import { JsonNode } from './json-node.js';
import type { LoadedDefinition } from './load-definitions.js';
import { requestAddress } from './request-address.js';

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
}

/** A user's API as a pipeline reads it. */
export interface OwnConnection {
  /** The pages of a window in order, as `Pipeline.pages`. */
  pages(window: Window, reading: Reading<unknown>): AsyncIterable<OwnPage>;
  pace(): Pace | undefined;
  begun(): readonly Window[];
  close(): Promise<void>;
}

/** As with the finances: requests at once, the newest answer's share of what is known, what may overtake on the way. */
const concurrency = 20;
const newestShare = 0.2;
const overtaking = { seconds: 0.6, tokens: 3 };

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

/** A page as it was received, scanned. */
interface Received {
  readonly page: Page;
  readonly records: readonly Json[];
  readonly body: Uint8Array;
  readonly headers: ReadonlyMap<string, string>;
}

/** Connects to a user's API: a transport, and a queue with a bucket. */
export function connectOwn(
  loaded: LoadedDefinition,
  { address, clock, random, kept, journal }: OwnConnectionOptions,
): OwnConnection {
  const { file, definition } = loaded;
  const { name, api } = definition;
  const { pageSize = defaultPageSize, quota, timeoutSeconds = 60 } = api;
  const timeout = timeoutSeconds * 1000;
  const transport = createTransport({ headersTimeoutMs: timeout, bodyTimeoutMs: timeout });
  const headers = Object.fromEntries(
    [...address.headers].map(([of, value]) => [of, value instanceof Secret ? value.reveal() : value]),
  );
  const secrets = [...address.headers.values()].flatMap((value) => (value instanceof Secret ? [value.reveal()] : []));
  const queue = queueOf();
  const service = `${createHash('sha256').update(`${address.origin}${address.prefix} ${name}`).digest('hex').slice(0, 16)} `;
  let latency: number | undefined;
  let answered = false;

  function queueOf(): RequestQueue {
    if (quota === undefined) return new RequestQueue({ concurrency });
    const bucket: TokenBucket = new TokenBucket({
      rate: quota.rate,
      burst: quota.burst,
      clock,
      reserve: Math.min(overtaking.tokens, overtaking.seconds * quota.rate, quota.burst - 1),
      state: kept?.stateOf(name),
      changed: () => kept?.keep(name, bucket.state),
    });
    return new RequestQueue({ concurrency, bucket, patience: { ms: cursorLifeMs(loaded) / 4, clock } });
  }

  const attempt = async (request: string, asked: AskedWindow, reading: Reading<unknown>, tries: number) => {
    const { counts, priority, signal } = reading;
    let sentAt = clock.now();
    const answer = await queue.run(
      (started) => {
        counts.requests++;
        if (tries > 1) counts.retries++;
        sentAt = clock.now();
        return transport.get({ origin: address.origin, path: request, headers, signal: started });
      },
      { priority, signal },
    );
    const rate = quota?.rateHeader === undefined ? NaN : Number(answer.headers.get(quota.rateHeader.toLowerCase()));
    if (Number.isFinite(rate) && rate > 0) queue.setRate(rate);
    const body = secrets.reduce(withoutSecret, answer.body);
    if (answer.status !== 200) throw apiRefusal(loaded, answer, body, request);
    if (body !== answer.body) throw bodyError(name, 'a page, got an answer that repeats our own credentials');
    if (isHtml(body)) throw new ApiRefusal('stranger', undefined, webPage(name), 200, `GET ${request}`);
    const received = receivedPage(loaded, request, asked, body, answer.headers);
    const seconds = Math.max(0, clock.now() - sentAt) / 1000;
    latency = (latency ?? seconds) + (seconds - (latency ?? seconds)) * newestShare;
    queue.bucket?.granted();
    answered = true;
    return received;
  };

  const ask = (request: string, asked: AskedWindow, reading: Reading<unknown>): Promise<Received> =>
    retried((tries) => attempt(request, asked, reading, tries), {
      clock,
      signal: reading.signal,
      table: attemptTable,
      causeOf,
      isKnown: () => answered,
      cameFrom: (cause, error) => {
        if (error instanceof ApiRefusal && cause !== 'stranger') answered = true;
      },
      pauseFor: (_cause, rule, before, error) => {
        const pause = backOff(rule, before, random);
        const after = error instanceof ApiRefusal ? retryAfterMs(error.retryAfter, clock.now()) : undefined;
        return after === undefined ? pause : after + Math.floor(random() * rule.firstPauseMs);
      },
      met: (cause, pause) => {
        if (cause !== 'throttled') return;
        reading.counts.throttled++;
        queue.bucket?.refused(pause);
      },
      again: (_cause, rule) => rule.again,
      more: (cause, error) => (cause === 'mistake' || cause === 'invalid' ? requestText(error) : ''),
    });

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
      const asked = { from: new Date(window.start), to: new Date(window.end), account: reading.account, pageSize };
      const first = requestAddress(
        file,
        address,
        called(file, 'first', () => definition.first(asked)),
      );
      const known = await takenOver(question, first, asked);
      const requests = new Set(known.map(({ page }) => page.request));
      let empty = 0;
      yield* known;
      const last = known.at(-1);
      try {
        for (let next = last === undefined ? first : nextOf(last); next !== undefined;) {
          if (requests.has(next) || empty > mostEmptyPages) throw inCircle(name, requests.size);
          requests.add(next);
          const received = await ask(next, asked, reading);
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
    pace: (): Pace | undefined => {
      const { bucket } = queue;
      if (bucket === undefined || !isWorthPacing(bucket.rate)) return undefined;
      return { rate: bucket.rate, burst: bucket.burst, level: bucket.level(), latency };
    },
    begun: () =>
      (journal?.begun() ?? []).flatMap((question) =>
        question.startsWith(service) ? (readWindow(question.slice(service.length)) ?? []) : [],
      ),
    close: async () => {
      await transport.close();
      await kept?.flush();
    },
  };
}

function causeOf(error: unknown): Cause {
  return error instanceof ApiRefusal ? error.standsFor : transportCause(error);
}

/** @throws LedgerlakeError JSON_SYNTAX, UPSTREAM_BODY or DEFINITION */
function receivedPage(
  { file, definition }: LoadedDefinition,
  request: string,
  window: AskedWindow,
  body: Uint8Array,
  headers: ReadonlyMap<string, string>,
): Received {
  const tape = new Tape();
  scan(body, tape);
  const header = (of: string): string | undefined => headers.get(of.toLowerCase());
  const page: Page = { body: new JsonNode(tape), header, request, window };
  const records: unknown = called(file, 'records', () => definition.records(page));
  if (Array.isArray(records) && records.every((record): record is Json => record instanceof JsonNode)) {
    return { page, records, body, headers };
  }
  throw definitionError(file, 'records', 'expected a list of values of the page, such as page.body.list("items")');
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

function webPage(name: string): string {
  return `Expected JSON for ${name}, got a web page (HTML). Check api.address, and for a proxy in between.`;
}

function bodyError(name: string, what: string): LedgerlakeError {
  return new LedgerlakeError('UPSTREAM_BODY', `${name}: expected ${what}: check api.address`, { status: 200 });
}

function inCircle(name: string, pages: number): ReadFailure {
  const message =
    `Expected page ${pages} of ${name} to end the list or to lead to a new page, it leads to one that was read, or there ` +
    'were a thousand without a record. Check `next` of the definition, or try again later.';
  return new ReadFailure('loop', 'UPSTREAM_BODY', message, { pages });
}
