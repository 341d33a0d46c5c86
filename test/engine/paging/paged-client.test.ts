import { readdir } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTransport } from '../../../src/engine/http/transport.js';
import { openPageJournal } from '../../../src/engine/page-journal/page-journal.js';
import { connectApi, type PagedClient } from '../../../src/engine/paging/paged-client.js';
import type { ApiPage, PagedApi, Query } from '../../../src/engine/paging/paged-api.js';
import { readVerdict, ReadFailure } from '../../../src/engine/retry/read-failure.js';
import { ApiRefusal } from '../../../src/engine/retry/api-refusal.js';
import type { Window } from '../../../src/core/windows.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { inItsFolder } from '../../core/io/path-below.js';
import { HandClock } from '../../core/clock.js';
import { orphan } from '../page-journal/orphan.js';
import { recordingServer } from '../http/recording-server.js';
import { send, type Scripted } from './scripted-server.js';
import { failureOf } from '../../failure-of.js';

const start = Date.parse('2026-03-01T00:00:00Z');
const day = 86_400_000;
const operation = 'listThings';

interface ThingQuery extends Query {
  readonly window: Window;
}

interface ThingPage extends ApiPage {
  readonly things: readonly unknown[];
}

/** An API of another kind than Finances v0: no page size, every argument with every page, an envelope of its own, in no order. */
function thingApi(origin: string): PagedApi<ThingQuery, ThingPage> {
  return {
    id: origin,
    address: { origin, headers: {}, secrets: [], setting: 'the test' },
    operations: [operation],
    quota: { rate: 0.5, burst: 10 },
    cursorLifeMs: 180_000,
    pageSizes: [500],
    longestWindowMs: 180 * day,
    isTooLargeWhereFaultLasts: true,
    windowOf: ({ window }) => window,
    request: ({ window }, cursor) => {
      const next = cursor === undefined ? '' : `&nextToken=${encodeURIComponent(cursor)}`;
      return { path: `/things?after=${window.start}&before=${window.end}${next}` };
    },
    readPage: (_query, { body }) => {
      const page = JSON.parse(Buffer.from(body).toString()) as { things: unknown[]; nextToken?: string | null };
      return { things: page.things, results: page.things.length, cursor: page.nextToken ?? undefined };
    },
    resultTexts: ({ things }) => things.map((thing) => JSON.stringify(thing)),
    refusal: (_query, answer) => {
      const stands = answer.status >= 500 ? 'fault' : answer.hadCursor ? 'cursor-expired' : 'mistake';
      return new ApiRefusal({ refusalCause: stands, message: `status ${answer.status}` }, answer);
    },
  };
}

const page = (things: readonly number[], nextToken?: string | null): Scripted => ({
  body: JSON.stringify({ nextToken, things }),
});

async function setup(answer: (number: number) => Scripted, journalFolder?: string) {
  const server = await recordingServer((_request, response, number) => {
    send(answer(number), response);
  });
  const clock = new HandClock(start + 30 * day);
  const connect = async (api: PagedApi<ThingQuery, ThingPage>): Promise<PagedClient<ThingQuery, ThingPage>> => {
    const warn = (reason: unknown): never => {
      throw reason as Error;
    };
    const pageJournal =
      journalFolder === undefined
        ? undefined
        : await openPageJournal({ folder: inItsFolder(journalFolder), clock, cursorLifeMs: 180_000, warn });
    const options = { transport: createTransport(), clock, random: () => 0, pageJournal };
    const client = connectApi(api, options);
    onTestFinished(() => client.close());
    return client;
  };
  const client = await connect(thingApi(server.origin));
  const counts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const pages = (window: Window, by = client) => {
    const { signal } = new AbortController();
    const reading = { upstream: undefined, account: 'shop', counts, priority: 0, signal };
    return by.pages({ operation, window }, { ...reading, committed: () => undefined, emit: () => undefined });
  };
  const read = (window: Window, by?: typeof client): Promise<unknown[]> => {
    const all = async (): Promise<unknown[]> => {
      const things: unknown[] = [];
      for await (const each of pages(window, by)) things.push(...each.things);
      return things;
    };
    return clock.until(all());
  };
  return { server, clock, client, connect, counts, pages, read };
}

const month = { start, end: start + 28 * day };

describe('an API without page sizes, whose answers are in no order', () => {
  test('is read page by page, each with all arguments of the first, until its token is null', async () => {
    const { read, server, counts } = await setup(
      (number) => [page([9, 2], 'a+/='), page([], 'b'), page([5], null)][number - 1] ?? 'reset',
    );
    expect(await read(month)).toEqual([9, 2, 5]);
    const first = `/things?after=${month.start}&before=${month.end}`;
    expect(server.requests.map(({ url }) => url)).toEqual([
      first,
      `${first}&nextToken=a%2B%2F%3D`,
      `${first}&nextToken=b`,
    ]);
    expect(counts).toEqual({ requests: 3, retries: 0, throttled: 0, pages: 3 });
  });

  test('has a burst of its own', async () => {
    const { client } = await setup(() => 'reset');
    expect(client.pace(operation)).toMatchObject({ rate: 0.5, burst: 10 - 0.3 });
  });

  test('that loses a cursor has its window read again, without a request for the place', async () => {
    const { read, server } = await setup((number) => (number === 1 ? page([1], 'a') : { status: 400 }));
    const failure = await failureOf(read(month), ReadFailure);
    expect(failure).toMatchObject({ kind: 'cursor-expired', pages: 1 });
    expect(readVerdict(failure, { 'cursor-expired': 'retry' })).toBe('retry');
    expect(server.requests).toHaveLength(2);
  });

  test('that fails again and again on a later page holds too much for one window', async () => {
    const { read, server } = await setup((number) => (number < 3 ? page([number], `t${number}`) : { status: 500 }));
    const failure = await failureOf(read(month), ReadFailure);
    expect(failure).toMatchObject({ kind: 'too-large', pages: 2, tries: 8 });
    expect(readVerdict(failure, { 'too-large': 'split' })).toBe('split');
    expect(server.requests).toHaveLength(2 + 8);
  });

  test('that fails on the first page has a fault', async () => {
    const { read } = await setup(() => ({ status: 500 }));
    expect(await failureOf(read(month), ReadFailure)).toMatchObject({ kind: 'fault', pages: 0 });
  });

  test('is not asked for a window that it answers with nothing', async () => {
    const { read, server } = await setup(() => page([]));
    const failure = await failureOf(read({ start: start - 181 * day, end: start }), ReadFailure);
    expect(failure).toMatchObject({ kind: 'mistake', endsRun: true });
    expect(server.requests).toHaveLength(0);
  });
});

describe('what a dead run has received', () => {
  /** Reads two pages, and dies. */
  async function died(folder: string) {
    const of = await setup((number) => page([number], number < 3 ? `t${number}` : null), folder);
    const pages = of.pages(month);
    await of.clock.until(pages.next());
    await of.clock.until(pages.next());
    await pages.return();
    await orphan(folder);
    return of;
  }

  test('is continued by the next one', async () => {
    const folder = await temporaryFolder();
    const { server, connect, read } = await died(folder);
    const next = await connect(thingApi(server.origin));
    expect(next.begun(operation)).toEqual([month]);
    expect(next.begun('anotherOperation')).toEqual([]);
    expect(await read(month, next)).toEqual([1, 2, 3]);
    expect(server.requests.map(({ url }) => url.split('nextToken=')[1])).toEqual([undefined, 't1', 't2']);
  });

  test.each([
    [
      'its pages do not lead to each other any more',
      ({ cursor, ...rest }: ThingPage) => ({ ...rest, cursor: cursor && `${cursor}-by-another-rule` }),
    ],
    [
      'another definition cannot read them',
      (read: ThingPage) => {
        if (read.things.includes(1)) throw new Error('expected another envelope');
        return read;
      },
    ],
  ])('is asked for again where %s', async (_why, changed) => {
    const folder = await temporaryFolder();
    const { server, connect, read } = await died(folder);
    const api = thingApi(server.origin);
    const next = await connect({ ...api, readPage: (...of) => changed(api.readPage(...of)) });
    expect(await read(month, next)).toEqual([3]);
    expect(server.requests).toHaveLength(3);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test('is of no use once its cursor is too old', async () => {
    const folder = await temporaryFolder();
    const { server, connect, read, clock } = await died(folder);
    const next = await connect(thingApi(server.origin));
    await clock.advance(151_000);
    expect(await read(month, next)).toEqual([3]);
    expect(server.requests).toHaveLength(3);
  });
});
