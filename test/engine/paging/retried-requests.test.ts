import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { UpstreamEvent } from '../../../src/core/events/run-event.js';
import type { RequestParameters } from '../../../src/sources/finances/api-v0/request-path.js';
import type { Cause } from '../../../src/engine/retry/causes.js';
import { ReadFailure } from '../../../src/engine/retry/read-failure.js';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { RequestQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { HandClock } from '../../core/clock.js';
import {
  connected,
  day,
  emptyPage,
  events,
  invalidInput,
  refusal,
  send,
  setup,
  start,
  week,
  type Scripted,
  type Setup,
} from './scripted-server.js';
import { failureOf } from '../../failure-of.js';

const minute = 60_000;

/** Asks for one page; `cursor`: not the first. */
const ask = (of: Setup, parameters: RequestParameters = week, cursor?: string, pageSize = 100) =>
  of.clock.until(of.request({ operation: events, parameters }, { cursor, pageSize }, of));
const asking = (of: Setup) => of.request({ operation: events, parameters: week }, { pageSize: 100 }, of);
const elapsed = ({ clock }: Setup) => clock.now() - start;

const page = (body: string): Scripted => ({ body });
const html: Scripted = { status: 200, headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE html><p>Login' };

/** Each answer that is asked for again: what it fails with in the end, the attempts until then, and the pauses in all. */
const rows: [string, Scripted, Cause, number, [shortest: number, longest: number]][] = [
  ['status 500', refusal(500, 'InternalFailure', 'failed'), 'fault', 8, [7_000, 182_000]],
  ['status 502', { status: 502, body: '<html>' }, 'fault', 8, [7_000, 182_000]],
  ['status 503', refusal(503, 'ServiceUnavailable', 'later'), 'fault', 8, [7_000, 182_000]],
  ['status 504', { status: 504 }, 'fault', 8, [7_000, 182_000]],
  ['a body that is not JSON', page('{"payload":{]'), 'unreadable', 8, [7_000, 182_000]],
  ['an empty body', page(''), 'fault', 8, [7_000, 182_000]],
  ['a body without a payload', page('{"pagination":{}}'), 'fault', 8, [7_000, 182_000]],
  ['a payload that is not the model', page('{"payload":{"FinancialEvents":[]}}'), 'fault', 8, [7_000, 182_000]],
  ['a connection that is reset', 'reset', 'fault', 8, [7_000, 182_000]],
  ['a body that is cut off', 'cut off', 'fault', 8, [7_000, 182_000]],
  ['InvalidInput for no reason', invalidInput('Invalid Input'), 'invalid', 4, [1_500, 7_000]],
  ['a web page, and never anything else', html, 'unreachable', 3, [1_000, 3_000]],
  ['a redirect, and never anything else', { status: 302 }, 'unreachable', 3, [1_000, 3_000]],
];

describe.each(rows)('%s', (_, scripted, kind, tries, [shortest, longest]) => {
  test.each([0, 0.999_999])(`fails after ${tries} attempts with pauses in between (chance %d)`, async (chance) => {
    const of = await setup(() => scripted, { random: () => chance });
    const failure = await failureOf(ask(of), ReadFailure);
    expect(failure).toMatchObject({ kind, tries });
    expect(failure.message).toContain(`Tried ${tries} times.`);
    expect(failure.message).not.toContain('\n');
    expect(of.server.requests).toHaveLength(tries);
    expect(new Set(of.server.requests.map(({ url }) => url)).size).toBe(1);
    expect(of.counts).toEqual({ requests: tries, retries: tries - 1, throttled: 0, pages: 0 });
    const waited = elapsed(of);
    expect(waited).toBeGreaterThanOrEqual(chance === 0 ? shortest : longest - 10);
    expect(waited).toBeLessThanOrEqual(chance === 0 ? shortest : longest);
  });

  test(`is survived up to ${tries - 1} times`, async () => {
    const of = await setup((number) => (number < tries ? scripted : emptyPage));
    expect((await ask(of)).page.cursor).toBeUndefined();
    expect(of.counts).toEqual({ requests: tries, retries: tries - 1, throttled: 0, pages: 0 });
  });
});

// Timeouts are to the second, so each is waited for only twice.
test.each<Scripted>(['silence', 'half a body, then silence'])('%s is a fault too', async (scripted) => {
  const transport = { headersTimeoutMs: 10, bodyTimeoutMs: 10 };
  const of = await setup((number) => (number < 3 ? scripted : emptyPage), { transport, random: () => 0 });
  await ask(of);
  expect(of.counts).toEqual({ requests: 3, retries: 2, throttled: 0, pages: 0 });
  expect(elapsed(of)).toBe(2000);
});

describe('what asking again does not help', () => {
  const cursor = 'long-enough-to-be-cut';
  test.each<[Cause, Scripted, string | undefined]>([
    ['cursor-expired', invalidInput('Token is not valid, token duration is 3 minutes.'), cursor],
    ['too-large', invalidInput('The response is too large'), undefined],
    ['window-too-long', invalidInput('The date range is too large'), undefined],
    ['mistake', invalidInput('PostedBefore must be later than PostedAfter.'), undefined],
    ['mistake', refusal(405, 'MethodNotAllowed', 'GET'), undefined],
    ['denied', refusal(403, 'Unauthorized', 'Access to requested resource is denied.'), undefined],
    ['denied', refusal(401, 'Unauthorized', 'no'), undefined],
  ])('fails with %s at once', async (kind, scripted, at) => {
    const of = await setup(() => scripted);
    expect(await failureOf(ask(of, week, at), ReadFailure)).toMatchObject({ kind, tries: 1 });
    expect([of.counts.requests, of.counts.retries, elapsed(of)]).toEqual([1, 0, 0]);
  });

  test('a group that is not there keeps its status', async () => {
    const of = await setup(() => refusal(404, 'ResourceNotFound', 'no such group'));
    const asked = of.clock.until(
      of.request(
        { operation: 'ListFinancialEventsByGroupId', parameters: { eventGroupId: 'g' } },
        { pageSize: 100 },
        of,
      ),
    );
    expect(await failureOf(asked, ReadFailure)).toMatchObject({ kind: 'unknown-subject', status: 404, tries: 1 });
  });

  test('a mistake shows the request and the answer, with the token cut', async () => {
    const of = await setup(() => invalidInput('MaxResultsPerPage must be a whole number.'));
    const failure = await failureOf(ask(of, week, cursor, 7), ReadFailure);
    expect(failure.message).toContain('MaxResultsPerPage must be a whole number');
    expect(failure.message).toContain(
      'The request was: GET /finances/v0/financialEvents?MaxResultsPerPage=7&NextToken=long-enough-…',
    );
    expect(`${failure.message}${failure.details ?? ''}`).not.toContain(cursor);
    expect(failure.details).toContain('"code":"InvalidInput"');
  });
});

describe('throttling', () => {
  const throttled = (headers: Record<string, string> = {}) => refusal(429, 'QuotaExceeded', 'too many', { headers });

  test.each([0, 0.5, 0.999_999])('for minutes on end is waited out, up to half an hour (chance %d)', async (chance) => {
    const told: Extract<UpstreamEvent, { event: 'request-failed' }>[] = [];
    const of = await setup(() => throttled(), {
      random: () => chance,
      emit: (event) => {
        if (event.event === 'request-failed') told.push(event);
      },
    });
    const failure = await failureOf(ask(of), ReadFailure);
    expect(failure).toMatchObject({ kind: 'throttled', status: 429 });
    const { requests, retries, throttled: times } = of.counts;
    expect([retries, times, failure.tries]).toEqual([requests - 1, requests, requests]);
    // The next pause would have gone beyond it.
    expect(elapsed(of)).toBeLessThanOrEqual(30 * minute);
    expect(elapsed(of) + minute).toBeGreaterThan(30 * minute);
    expect(told.at(-1)).toMatchObject({ again: false, waitSeconds: 0 });
    const pauses = told.filter(({ again }) => again).map(({ waitSeconds }) => waitSeconds * 1000);
    const limits = [2000, 4000, 8000, 16_000, 32_000];
    pauses.forEach((pause, number) => {
      expect(pause).toBeGreaterThanOrEqual(1000);
      expect(pause).toBeLessThanOrEqual(limits[number] ?? minute);
    });
    expect(told.every(({ operation }) => operation === events)).toBe(true);
  });

  test('for five minutes is survived', async () => {
    const of: Setup = await setup(() => (of.clock.now() < start + 5 * minute ? throttled() : emptyPage));
    await ask(of);
    expect(elapsed(of)).toBeLessThan(6 * minute);
    expect(of.counts.throttled).toBe(of.counts.retries);
  });

  test.each<[string, Record<string, string>, number]>([
    ['seconds', { 'retry-after': '90' }, 90_000],
    ['a date', { 'retry-after': 'Tue, 01 Jul 2025 12:03:00 GMT' }, 3 * minute],
    [
      'a date of a clock that is ahead',
      { 'retry-after': 'Tue, 01 Jul 2025 12:13:00 GMT', date: 'Tue, 01 Jul 2025 12:10:00 GMT' },
      3 * minute,
    ],
    ['a date that is over', { 'retry-after': 'Tue, 01 Jul 2025 11:00:00 GMT' }, 0],
  ])('with Retry-After as %s waits that long, and a little by chance', async (_, headers, waited) => {
    const of = await setup((number) => (number === 1 ? throttled(headers) : emptyPage), { random: () => 0.5 });
    await ask(of);
    expect(elapsed(of)).toBe(waited + 1000);
  });

  test.each(['', 'soon', '-3', '1e9'])('with a Retry-After that says nothing (%j) backs off', async (text) => {
    const of = await setup((number) => (number === 1 ? throttled({ 'retry-after': text }) : emptyPage));
    await ask(of);
    expect(elapsed(of)).toBe(1500);
  });

  test('with a Retry-After beyond half an hour is given up at once', async () => {
    const of = await setup(() => throttled({ 'retry-after': '3600' }));
    expect(await failureOf(ask(of), ReadFailure)).toMatchObject({ kind: 'throttled', tries: 1 });
    expect(elapsed(of)).toBe(0);
  });

  test('takes a token of the quota for each attempt, and answers tell how long they took', async () => {
    const clock = new HandClock(start);
    const bucket = new TokenBucket({ rate: 1, burst: 5, clock });
    const queue = new RequestQueue({ bucket, concurrency: 2 });
    const of: Setup = await setup(
      (number) => {
        if (number === 2) of.clock.jump(of.clock.now() + 1500);
        return number < 2 ? throttled({ 'retry-after': '0' }) : emptyPage;
      },
      { client: { queueOf: () => queue }, random: () => 0 },
    );
    await ask(of);
    expect(bucket.level()).toBe(3);
    expect(queue.pace()?.latency).toBe(1.5);
  });
});

describe('a date bound that is too late', () => {
  const late = (skewMs: number) => ({
    ...invalidInput('PostedBefore should be no later than 2 minutes from now.'),
    headers: { date: new Date(start + skewMs).toUTCString() },
  });
  const until = (before: number) => ({ PostedAfter: start - day, PostedBefore: before });

  test('for a clock that is three minutes behind is waited for', async () => {
    const of = await setup((number) => (number === 1 ? late(-3 * minute) : emptyPage));
    await ask(of, until(start - 4 * minute));
    expect(elapsed(of)).toBe(minute + 2000);
    expect(of.counts.requests).toBe(2);
  });

  test('for a clock that is half an hour behind is told with the clocks', async () => {
    const of = await setup(() => late(-30 * minute));
    const failure = await failureOf(ask(of, until(start - 4 * minute)), ReadFailure);
    expect(failure).toMatchObject({ kind: 'bound-too-late', tries: 1 });
    expect(failure.message).toMatch(
      /^The service's clock is 30 min behind this machine's, and it accepts these dates in 28 min/,
    );
    expect(elapsed(of)).toBe(0);
  });

  test('without a reason in the clocks is tried a few times', async () => {
    const of = await setup(() => late(0));
    expect(await failureOf(ask(of), ReadFailure)).toMatchObject({ kind: 'bound-too-late', tries: 6 });
    expect(elapsed(of)).toBeLessThan(10 * minute);
  });
});

describe('an access token', () => {
  function signIn() {
    const refused: string[] = [];
    const accessTokens = {
      current: () => Promise.resolve(`access-token-${refused.length + 1}`),
      isCurrent: () => true,
      refused: (token: string) => refused.push(token),
    };
    return { refused, client: { accessTokens } };
  }
  const expired = refusal(403, 'Unauthorized', 'The access token you provided has expired.');

  test('that has expired is refused, and another one is sent at once', async () => {
    const { refused, client } = signIn();
    const of = await setup((number) => (number === 1 ? expired : emptyPage), { client });
    await ask(of);
    expect(refused).toEqual(['access-token-1']);
    const sent = of.server.requests.map(({ headers }) => headers['x-amz-access-token']);
    expect(sent).toEqual(['access-token-1', 'access-token-2']);
    expect([of.counts.retries, elapsed(of)]).toEqual([1, 0]);
  });

  test.each([2, 3])('that has expired %d times in a row is asked for again, behind a short wait', async (times) => {
    const { refused, client } = signIn();
    const of = await setup((number) => (number <= times ? expired : emptyPage), { client });
    await ask(of);
    expect(refused).toHaveLength(times);
    expect(new Set(of.server.requests.map(({ headers }) => headers['x-amz-access-token'])).size).toBe(times + 1);
    expect(elapsed(of)).toBeGreaterThan(500);
    expect(elapsed(of)).toBeLessThan(10_000);
  });

  test('that expires however often it is asked for stops the run, and says what to check', async () => {
    const { refused, client } = signIn();
    const of = await setup(() => expired, { client });
    const failure = await failureOf(ask(of), ReadFailure);
    expect(failure).toMatchObject({ kind: 'denied', tries: 4, endsRun: true });
    expect(failure.message).toContain('the endpoint belong together (region, sandbox), and that the seller');
    expect(refused).toHaveLength(4);
  });

  test('that is refused twice without a word of expiry is denied access, which says what to check', async () => {
    const { refused, client } = signIn();
    const of = await setup(() => refusal(403, 'Unauthorized', 'Access to requested resource is denied.'), { client });
    const failure = await failureOf(ask(of), ReadFailure);
    expect(failure).toMatchObject({ kind: 'denied', tries: 2, endsRun: true });
    expect(failure.message).toMatch(
      /Usual causes: .* the role Finance and Accounting .*, this seller has not authorised it, or the account's region/,
    );
    expect(refused).toHaveLength(2);
    expect(elapsed(of)).toBe(0);
  });

  test('that can not be had is told as it is, and no request is sent or counted', async () => {
    const reason = new Error('no such account');
    const accessTokens = { current: () => Promise.reject(reason), isCurrent: () => true, refused: () => undefined };
    const of = await setup(() => emptyPage, { client: { accessTokens } });
    await expect(ask(of)).rejects.toBe(reason);
    expect([of.server.requests.length, of.counts.requests]).toEqual([0, 0]);
  });

  test.each<[string, (echo: string) => Scripted]>([
    ['an error', (echo) => refusal(400, 'Other', echo)],
    ['a denial', (echo) => refusal(403, 'Unauthorized', echo)],
    ['a fault', (echo) => ({ status: 500, body: echo })],
    ['a web page', (echo) => page(`<html>${echo}`)],
    ['a page', (echo) => page(`{"payload":{"FinancialEvents":{"a":["${echo}"]}}}`)],
    ['no page', (echo) => page(`{"you sent":"${echo}"}`)],
  ])('and the password of the endpoint are in no message, even where %s repeats them', async (_, answer) => {
    const { client } = signIn();
    const of = await setup(
      (_number, { headers }) =>
        answer(`${String(headers['x-amz-access-token'])} ${headers.authorization ?? 'no password'}`),
      { client, login: 'me:secret-word@' },
    );
    const failure = await failureOf(ask(of), ReadFailure);
    expect(of.server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('me:secret-word')}`);
    for (let told: unknown = failure; told instanceof Error; told = told.cause) {
      const { details = '' } = told as { details?: string };
      const text = `${told.message} ${details} ${told.stack ?? ''} ${JSON.stringify(told)}`;
      expect(text).not.toMatch(/access-token-\d|secret-word/);
      expect(text).not.toContain(btoa('me:secret-word'));
    }
  });
});

describe('a service that is not there', () => {
  test('and never was is given up soon, because its address is probably wrong', async () => {
    const { server } = await setup(() => emptyPage);
    // Port 1 is reserved and nobody listens there.
    const of = connected(server, 'http://127.0.0.1:1');
    const failure = await failureOf(ask(of), ReadFailure);
    expect(failure).toMatchObject({ kind: 'unreachable', tries: 3, endsRun: true });
    expect(failure.message).toContain('127.0.0.1:1');
    expect(elapsed(of)).toBeLessThan(5000);
  });

  test('but was in an earlier run is waited for', async () => {
    const { server } = await setup(() => emptyPage);
    const of = connected(server, 'http://127.0.0.1:1', { hasAnswered: true });
    expect(await failureOf(of.clock.until(asking(of)), ReadFailure)).toMatchObject({ kind: 'unreachable', tries: 8 });
    expect(elapsed(of)).toBeGreaterThan(minute);
  });

  test.each([true, false])('but was a moment ago is waited for (comes back: %s)', async (comesBack) => {
    const { server } = await setup(() => emptyPage);
    const listen = (port: number) =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const made = createServer((_, response) => {
          send(emptyPage, response.setHeader('connection', 'close'));
        }).listen(port, '127.0.0.1', () => {
          resolve(made);
        });
      });
    const first = await listen(0);
    const { port } = first.address() as AddressInfo;
    const of = connected(server, `http://127.0.0.1:${port}`, { random: () => 0.999_999 });
    await ask(of);
    await new Promise((resolve) => first.close(resolve));
    const asked = asking(of);
    if (!comesBack) {
      expect(await failureOf(of.clock.until(asked), ReadFailure)).toMatchObject({ kind: 'unreachable', tries: 8 });
      expect(elapsed(of)).toBeGreaterThan(2 * minute);
      return;
    }
    while (of.clock.sleeping === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const second = await listen(port);
    onTestFinished(() => void second.close());
    await of.clock.until(asked);
    expect(of.counts).toMatchObject({ requests: 3, retries: 1 });
  });
});

test('a web page from a service that has answered before is a passing fault', async () => {
  const of = await setup((number) => (number === 1 ? emptyPage : html));
  await ask(of);
  expect(await failureOf(ask(of), ReadFailure)).toMatchObject({ kind: 'fault', tries: 8 });
});

test.each<[string, Scripted]>([
  ['throttling', refusal(429, 'QuotaExceeded', 'too many')],
  ['a fault', { status: 500 }],
  ['a bound', invalidInput('PostedBefore should be no later than 2 minutes from now.')],
])('a pause after %s ends at once when the signal aborts', async (_, scripted) => {
  const of = await setup(() => scripted);
  const asked = failureOf(asking(of), Error);
  while (of.clock.sleeping === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  of.stop.abort(new Error('enough'));
  expect((await asked).message).toBe('enough');
  expect([of.clock.sleeping, of.server.requests.length, elapsed(of)]).toEqual([0, 1, 0]);
});
