import { describe, expect, test } from 'vitest';
import { readPages, type KnownPage } from '../../../src/engine/paging/paginator.js';
import type { EventOperationName } from '../../../src/sources/finances/api-v0/operations.js';
import { LearnedPageSize } from '../../../src/engine/paging/page-size.js';
import { readFinancesPage, type CountedPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import type { Cause } from '../../../src/engine/retry/causes.js';
import { ReadFailure } from '../../../src/engine/retry/read-failure.js';
import type { RequestParameters } from '../../../src/sources/finances/api-v0/request-path.js';
import type { Recorded } from '../http/recording-server.js';
import {
  day,
  emptyPage,
  events,
  invalidInput,
  refusal,
  setup,
  start,
  week,
  type Scripted,
  type Setup,
} from './scripted-server.js';
import { failureOf } from '../../failure-of.js';

const weekQuery = 'PostedAfter=2025-06-23T12:00:00.000Z&PostedBefore=2025-06-30T12:00:00.000Z';

interface Reading {
  readonly operation?: EventOperationName;
  readonly parameters?: RequestParameters;
  readonly resume?: readonly KnownPage<CountedPage>[];
  readonly onPage?: (known: KnownPage<CountedPage>) => Promise<void> | void;
  readonly learnedSize?: LearnedPageSize;
}

/** Reads a chain to its end; the bodies of its pages are put in as they come, also before a failure. */
async function read(of: Setup, { operation = events, parameters = week, ...more }: Reading = {}, into: string[] = []) {
  const reading = async () => {
    for await (const page of readPages({ operation, parameters }, { ...of, ...more })) {
      into.push(page.tape.text(page.payload));
    }
    return into;
  };
  return of.clock.until(reading());
}

const query = ({ url }: Recorded): string => decodeURIComponent(url.split('?')[1] ?? '');
const queries = (of: Setup): string[] => of.server.requests.map(query);

/** A page with as many dated events as ids, and a token or none. */
function pageOf(token: string | undefined, ...ids: (string | number)[]) {
  const list = ids.map((id) => ({ PostedDate: new Date(start - 7 * day + Number(id) * 1000).toISOString(), id }));
  return { body: JSON.stringify({ payload: { NextToken: token, FinancialEvents: { ShipmentEventList: list } } }) };
}
const known = (scripted: { body: string }, more: Partial<KnownPage<CountedPage>> = {}): KnownPage<CountedPage> => {
  const body = Buffer.from(scripted.body);
  return { headers: new Map(), body, page: readFinancesPage(body), receivedAt: start, pageSize: 100, ...more };
};

const expired = invalidInput('Token is not valid, token duration is 3 minutes.');
const tooLarge = invalidInput('The response is too large.');

describe('pages', () => {
  test('are followed by their tokens, through empty ones too, until there is none', async () => {
    const of = await setup((number) => [pageOf('a+/=', 1), pageOf('b'), pageOf(undefined, 2)][number - 1] ?? 'reset');
    expect(await read(of)).toHaveLength(3);
    expect(queries(of)).toEqual([
      `${weekQuery}&MaxResultsPerPage=100`,
      'MaxResultsPerPage=100&NextToken=a+/=',
      'MaxResultsPerPage=100&NextToken=b',
    ]);
    expect(of.server.requests[1]?.url).toContain('NextToken=a%2B%2F%3D');
    expect(of.counts).toEqual({ requests: 3, retries: 0, throttled: 0, pages: 3 });
    expect(of.server.connections).toBe(1);
  });

  test('a token that is longer than any is a fault of the answer, which is asked for again', async () => {
    const long = 'x'.repeat(70_000);
    const of = await setup((number) => pageOf(number < 3 ? long : undefined, 1));
    expect(await read(of)).toHaveLength(1);
    expect(of.counts).toMatchObject({ requests: 3, retries: 2 });
    const failure = await failureOf(read(await setup(() => pageOf(long, 1))), ReadFailure);
    expect(failure).toMatchObject({ kind: 'fault', code: 'UPSTREAM_BODY', exitCode: 1 });
    expect(failure.message).toContain('got 70000');
  });

  test('an empty token is none', async () => {
    const of = await setup(() => pageOf('', 1));
    expect(await read(of)).toHaveLength(1);
  });

  test('are asked for one by one, none before it is wanted', async () => {
    const of = await setup((number) => pageOf(`token ${number}`, number));
    const pages = readPages({ operation: events, parameters: week }, of);
    await of.clock.until(pages.next());
    await pages.return(undefined);
    expect(of.server.requests).toHaveLength(1);
  });

  test('are told before they are handed on, and the next one is asked for only then', async () => {
    const told: string[] = [];
    const of = await setup((number) => pageOf(number < 3 ? `t${number}` : undefined, number));
    let isOpen = false;
    await read(of, {
      onPage: async ({ cursor, body, receivedAt, pageSize, page }) => {
        expect(isOpen).toBe(false);
        isOpen = true;
        await of.clock.sleep(1000);
        told.push(`${cursor ?? 'first'} ${receivedAt - start} ${pageSize} ${page.cursor ?? 'last'} ${body.length}`);
        isOpen = false;
      },
    });
    const sizes = [1, 2, 3].map((number) => pageOf(number < 3 ? `t${number}` : undefined, number).body.length);
    expect(told).toEqual([
      `first 0 100 t1 ${sizes[0] ?? 0}`,
      `t1 1000 100 t2 ${sizes[1] ?? 0}`,
      `t2 2000 100 last ${sizes[2] ?? 0}`,
    ]);
  });

  test.each([
    [['a', 'a'], 2, 2],
    [['a', 'b', 'c', 'a'], 4, 2],
  ])(
    'a token that comes round again (%j), and again where its page is asked for once more, ends in an error',
    async (tokens, sent, before) => {
      const of = await setup((number) => pageOf(tokens[Math.min(number, sent) - 1], Math.min(number, sent)));
      const seen: string[] = [];
      const failure = await failureOf(read(of, {}, seen), ReadFailure);
      expect(failure).toMatchObject({ kind: 'loop', code: 'UPSTREAM_BODY', pages: sent });
      expect(failure.message).toContain(`got the cursor of page ${before} again`);
      expect([of.server.requests.length, seen.length]).toEqual([sent + 1, sent]);
    },
  );

  test('a token that comes round again by a slip is asked for once more, and the pages go on', async () => {
    const tokens = ['a', 'a', 'b', undefined];
    const of = await setup((number) => pageOf(tokens[number - 1], number < 3 ? number : number - 1));
    const seen: string[] = [];
    await read(of, {}, seen);
    expect([of.server.requests.length, seen.length]).toEqual([4, 3]);
    expect(query(of.server.requests[2] ?? ({ url: '' } as Recorded))).toBe(
      query(of.server.requests[1] ?? ({ url: '' } as Recorded)),
    );
  });

  test('more than a thousand empty pages in a row are a circle too', async () => {
    const of = await setup((number) => pageOf(`t${number}`, ...(number === 5 ? [1] : [])));
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'loop', pages: 1006 });
  });

  test('more than 384 MB of pages are a circle too, whatever their tokens', async () => {
    const blanks = ' '.repeat(60 * 1024 * 1024);
    const of = await setup((number) => ({ body: blanks + pageOf(`t${number}`, 1).body }));
    const failure = await failureOf(read(of), ReadFailure);
    expect(failure).toMatchObject({ kind: 'loop', code: 'UPSTREAM_BODY', pages: 7 });
    expect(failure.message).toContain('got a cursor behind 440.4 MB');
  });

  test.each<[Cause, Scripted]>([
    ['invalid', invalidInput('Invalid Input')],
    ['fault', { status: 500 }],
    ['denied', { status: 403 }],
    ['window-too-long', invalidInput('The date range is too long')],
  ])('a failure midway (%s) tells how many came before', async (kind, scripted) => {
    const of = await setup((number) => (number < 3 ? pageOf(`t${number}`, number) : scripted));
    const seen: string[] = [];
    expect(await failureOf(read(of, {}, seen), ReadFailure)).toMatchObject({ kind, pages: 2 });
    expect(seen).toHaveLength(2);
  });

  test.each([
    [{ PostedAfter: start - 181 * day, PostedBefore: start - day / 2 }, 181],
    [{ PostedAfter: start - 181 * day }, 181],
  ])('of more than 180 days are not asked for: the answer would be empty (%j)', async (parameters, days) => {
    const of = await setup(() => emptyPage);
    const failure = await failureOf(read(of, { parameters }), ReadFailure);
    expect(failure).toMatchObject({ kind: 'mistake', endsRun: true });
    expect(failure.message).toContain(`got ${days} days`);
    expect(of.server.requests).toHaveLength(0);
    await read(of, { parameters: { PostedAfter: start - 180 * day, PostedBefore: start - day } });
  });
});

describe('pages that are too large', () => {
  const size = (request: Recorded) => Number(/MaxResultsPerPage=(\d+)/.exec(request.url)?.[1]);

  test('are asked for in smaller ones at the same place, and five good ones later in larger ones', async () => {
    const of = await setup((number, request) =>
      number > 3 && number < 9 && size(request) > 10
        ? tooLarge
        : pageOf(number < 24 ? `t${number}` : undefined, number),
    );
    const pages = await read(of);
    expect(pages).toHaveLength(24 - 3);
    expect(of.server.requests.map(size)).toEqual([
      ...[100, 100, 100, 100, 50, 25, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 40, 40, 40, 40, 40, 80, 80, 80],
    ]);
    expect(queries(of).slice(3, 8)).toEqual(
      [100, 50, 25, 10].map((n) => `MaxResultsPerPage=${n}&NextToken=t3`).concat('MaxResultsPerPage=10&NextToken=t7'),
    );
  });

  const vague = invalidInput('Request was not valid or data requested exceeds data retention period.');

  test('and refused without a reason are asked for in smaller ones, once each', async () => {
    const of = await setup((number, request) =>
      size(request) > 25 ? vague : pageOf(number < 8 ? `t${number}` : undefined, number),
    );
    expect(await read(of)).toHaveLength(3);
    expect(of.server.requests.map(size)).toEqual([100, 100, 100, 100, 50, 25, 25, 25]);
  });

  test('are tried less and less often, by the chains that follow too', async () => {
    const learnedSize = new LearnedPageSize();
    const limited = await setup((_, request) => {
      const at = Number(/NextToken=(\d+)/.exec(request.url)?.[1] ?? 0);
      return size(request) > 50 ? vague : pageOf(at < 19 ? `${at + 1}` : undefined, at);
    });
    for (let chain = 0; chain < 3; chain++) expect(await read(limited, { learnedSize })).toHaveLength(20);
    const sizes = limited.server.requests.map(size);
    // At first, after five pages of the first chain, and after ten of the second; twenty more end the third.
    expect(sizes.filter((each) => each === 100)).toHaveLength(3 * 4);
    expect(sizes.filter((each) => each === 50)).toHaveLength(60);
  });

  test('may not have been: a refusal that smaller pages do not end is what it was', async () => {
    const learnedSize = new LearnedPageSize();
    const of = await setup((number) => (number < 3 ? pageOf(`t${number}`, number) : vague));
    const failure = await failureOf(read(of, { learnedSize }), ReadFailure);
    expect(failure).toMatchObject({ kind: 'invalid', pages: 2, endsRun: false });
    expect(of.server.requests.map(size)).toEqual([100, 100, 100, 100, 100, 100, 50, 25, 10, 5, 2, 1]);
    expect(learnedSize.size).toBe(Infinity);
  });

  test('are told by their own size too: what is larger than is held in memory is asked for in smaller pages', async () => {
    const huge = { body: ' '.repeat(64 * 1024 * 1024 + 1) };
    const of = await setup((_, request) => (size(request) > 25 ? huge : pageOf(undefined, 1)));
    expect(await read(of)).toHaveLength(1);
    expect(of.server.requests.map(size)).toEqual([100, 50, 25]);
    expect(of.counts).toMatchObject({ requests: 3, retries: 0, pages: 1 });
  });

  test('even with one result a page end in an error', async () => {
    const of = await setup(() => tooLarge);
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'too-large', pages: 0 });
    expect(of.server.requests.map(size)).toEqual([100, 50, 25, 10, 5, 2, 1]);
  });

  test('where a token holds for one size only are found again in the smaller size', async () => {
    // Six events a page of a hundred stand for a hundred; the third page is too large for more than three results.
    const of = await setup((_, request) => {
      const [n, at] = [size(request), Number(/NextToken=\d+-(\d+)/.exec(request.url)?.[1] ?? 0)];
      const issued = Number(/NextToken=(\d+)-/.exec(request.url)?.[1] ?? n);
      const from = /PostedAfter=([^&]*)/.exec(decodeURIComponent(request.url))?.[1];
      const first = from === undefined ? at : Math.max(0, (Date.parse(from) - (start - 7 * day)) / 1000);
      if (issued !== n) return invalidInput('MaxResultsPerPage must be that of the first request.');
      if (first >= 200 && n > 50) return tooLarge;
      const end = Math.min(400, first + n);
      const ids = Array.from({ length: end - first }, (_id, index) => first + index);
      return pageOf(end < 400 ? `${n}-${end}` : undefined, ...ids);
    });
    const pages = await read(of);
    const ids = pages.flatMap((page) => [...page.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)));
    expect(ids).toEqual(Array.from({ length: 400 }, (_, id) => id));
    expect(pages).toHaveLength(6);
  });
});

describe('known pages', () => {
  const first = pageOf('a', 1, 2);
  const second = pageOf('b', 3, 4);

  test('are handed on first, and the chain goes on with the last one’s token', async () => {
    const told: (string | undefined)[] = [];
    const of = await setup(() => pageOf(undefined, 5));
    const resume = [known(first), known(second, { cursor: 'a', receivedAt: start - 60_000 })];
    expect(await read(of, { resume, onPage: ({ cursor }) => void told.push(cursor) })).toHaveLength(3);
    expect(queries(of)).toEqual(['MaxResultsPerPage=100&NextToken=b']);
    expect([told, of.counts.pages]).toEqual([['b'], 1]);
  });

  test('that are all there is need no request', async () => {
    const of = await setup(() => 'reset');
    expect(await read(of, { resume: [known(first), known(pageOf(undefined, 3), { receivedAt: 0 })] })).toHaveLength(2);
    expect(of.server.requests).toHaveLength(0);
  });

  test('whose token is too old are found again from the date of the last one on', async () => {
    const of = await setup((number) => (number === 1 ? pageOf('new', 3, 4) : pageOf(undefined, 5)));
    const resume = [known(first), known(second, { cursor: 'a', receivedAt: start - 151_000, pageSize: 50 })];
    const pages = await read(of, { resume });
    expect(pages.map((page) => [...page.matchAll(/"id":(\d)/g)].map(([, id]) => id).join())).toEqual([
      '1,2',
      '3,4',
      '5',
    ]);
    expect(queries(of)).toEqual([
      'PostedAfter=2025-06-24T12:00:03.000Z&PostedBefore=2025-06-30T12:00:00.000Z&MaxResultsPerPage=50',
      'MaxResultsPerPage=50&NextToken=new',
    ]);
  });

  test('may lead into a circle', async () => {
    const of = await setup(() => pageOf('a', 5));
    const resume = [known(first), known(second, { cursor: 'a' })];
    expect(await failureOf(read(of, { resume }), ReadFailure)).toMatchObject({ kind: 'loop', pages: 3 });
  });
});

describe('an expired token', () => {
  const byGroup = { operation: 'ListFinancialEventsByGroupId', parameters: { eventGroupId: 'g' } } as const;

  test('ends the pages of a group once two have come: the caller begins anew', async () => {
    const of = await setup((number) => (number < 3 ? pageOf(`t${number}`, number) : expired));
    const failure = await failureOf(read(of, byGroup), ReadFailure);
    expect(failure).toMatchObject({ kind: 'cursor-expired', pages: 2, status: 400, endsRun: false });
    expect(of.server.requests).toHaveLength(3);
  });

  test('of the only page, of a group too, is got again with the same page', async () => {
    const of = await setup(
      (number) => [pageOf('a', 1), expired, pageOf('b', 1), pageOf(undefined, 2)][number - 1] ?? 'reset',
    );
    expect(await read(of, byGroup)).toHaveLength(2);
    expect(queries(of).slice(2)).toEqual(['MaxResultsPerPage=100', 'MaxResultsPerPage=100&NextToken=b']);
    expect(of.counts).toMatchObject({ requests: 4, pages: 2 });
  });

  test.each<[string, Scripted]>([
    ['other events', pageOf('x', 3, 5)],
    ['fewer events', pageOf('x', 3)],
    ['the same events and no token', pageOf(undefined, 3, 4)],
  ])('whose page is now one with %s is lost', async (_, again) => {
    const of = await setup((number) => [pageOf('a', 1, 2), pageOf('b', 3, 4), expired][number - 1] ?? again);
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'cursor-expired', pages: 2 });
  });

  test('of pages that do not come in order of time is lost, without a request for nothing', async () => {
    const of = await setup((number) => [pageOf('a', 3, 4), pageOf('b', 1, 2), expired][number - 1] ?? 'reset');
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'cursor-expired', pages: 2 });
    expect(of.server.requests).toHaveLength(3);
  });

  test('that expires again and again is given up', async () => {
    const of = await setup((number) =>
      number === 1 ? pageOf('a', 1) : number % 2 === 0 ? expired : pageOf(`a${number}`, 1),
    );
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'cursor-expired', pages: 1 });
    expect(of.server.requests).toHaveLength(8);
  });

  test('can not be what a first request fails with', async () => {
    const of = await setup(() => expired);
    expect(await failureOf(read(of), ReadFailure)).toMatchObject({ kind: 'invalid', pages: 0 });
  });
});

test('the signal ends a chain in its pauses at once', async () => {
  const of = await setup((number) => (number === 1 ? pageOf('a', 1) : refusal(429, 'QuotaExceeded', 'too many')));
  const pages = readPages({ operation: events, parameters: week }, of);
  await of.clock.until(pages.next());
  const next = failureOf(pages.next(), Error);
  while (of.clock.sleeping === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  of.stop.abort(new Error('enough'));
  expect((await next).message).toBe('enough');
});
