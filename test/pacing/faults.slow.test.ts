import { expect, test } from 'vitest';
import type { Faults } from '../../src/emulator/faults/fault-settings.js';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import { type Outcome, virtualRun } from './virtual-run.js';

const small = { events: 2500, days: 40, pipelines: ['financial-events'], latencyMs: 50, timeoutMs: 1000 };
/** The first requests of all, so that each kind is met whatever the numbers come to. */
const twice = { share: 1, times: 2 };

const transactions = { ...small, pipelines: ['transactions'], events: 5000 };

const cases: readonly (readonly [string, Faults])[] = [
  ['throttled', { throttled: twice }],
  ['throttled-retry-after', { 'throttled-retry-after': twice }],
  ['throttled-spell', { 'throttled-spell': { share: 1, times: 1, forMs: 240_000 } }],
  ['rate-missing', { 'rate-missing': { share: 1 } }],
  ['rate-changed', { 'rate-changed': { share: 1, amount: 0.4 } }],
  ['invalid-input', { 'invalid-input': twice }],
  ['page-limit', { 'page-limit': { share: 1, amount: 50 } }],
  ['body-limit', { 'body-limit': { share: 1, amount: 60_000 } }],
  ['window-limit', { 'window-limit': { share: 1, amount: 5 } }],
  ['chain-limit', { 'chain-limit': { share: 1, amount: 2 } }],
  ['token-expired', { 'token-expired': twice }],
  ['server-error', { 'server-error': twice }],
  ['unavailable', { unavailable: twice }],
  ['unavailable-html', { 'unavailable-html': twice }],
  ['html', { html: twice }],
  ['cut-body', { 'cut-body': twice }],
  ['wrong-length', { 'wrong-length': twice }],
  ['reset', { reset: twice }],
  ['no-answer', { 'no-answer': twice }],
  ['no-body', { 'no-body': twice }],
  ['empty-page', { 'empty-page': { share: 0.3 } }],
  ['token-loop', { 'token-loop': twice }],
  ['unknown-list', { 'unknown-list': { share: 0.2 } }],
  ['clock-fast', { 'clock-fast': {} }],
  ['clock-slow', { 'clock-slow': {} }],
  ['all', { all: { share: 0.1 } }],
];

test.each(cases)('%s: the run ends well, and no row is lost or doubled', async (kind, faults) => {
  const outcome = await virtualRun({ ...small, server: { faults } });
  expect(outcome.failure).toBeUndefined();
  expect(outcome).toMatchObject({ lost: 0, doubled: 0 });
  // A clock that is off hits none in particular.
  if (!kind.startsWith('clock-')) expect(outcome.struck).toBeGreaterThan(0);
});

/** What page sizes, lists of events and windows of events are hit by: the newer API has none of these. */
const olderOnly: readonly string[] = ['page-limit', 'window-limit', 'unknown-list'];

const newerCases: readonly (readonly [string, Faults])[] = [
  ...cases.filter(([kind]) => !olderOnly.includes(kind)),
  ['body-limit', { 'body-limit': { share: 1, amount: 500_000 } }],
  ['chain-limit', { 'chain-limit': { share: 1, amount: 1 } }],
  ['empty-page', { 'empty-page': twice }],
  ['page-twice', { 'page-twice': twice }],
  ['null-token', { 'null-token': { share: 1 } }],
  ['no-list', { 'no-list': twice }],
  ['deep-500', { 'deep-500': { share: 1, amount: 5 } }],
  ['null-lists', { 'null-lists': { share: 0.5 } }],
  ['breakdown-object', { 'breakdown-object': { share: 0.5 } }],
  ['status-case', { 'status-case': { share: 0.5 } }],
];
/** Transactions that are answered in another shape are kept in it. */
const reshaping: readonly string[] = ['null-lists', 'breakdown-object', 'status-case'];
let undisturbed: Promise<Outcome> | undefined;

test.each([...new Map(newerCases)])(
  '%s: transactions and their entries are what they are without it',
  async (kind, faults) => {
    undisturbed ??= virtualRun({ ...transactions, readsAmounts: true });
    const { amounts } = await undisturbed;
    const outcome = await virtualRun({ ...transactions, readsAmounts: true, server: { faults } });
    expect(outcome.failure).toBeUndefined();
    if (!reshaping.includes(kind)) expect(outcome).toMatchObject({ lost: 0, doubled: 0 });
    expect(amounts.length).toBeGreaterThan(10_000);
    expect(outcome.amounts).toEqual(amounts);
    if (!kind.startsWith('clock-')) expect(outcome.struck).toBeGreaterThan(0);
  },
);

test('a day of transactions that is too large is read in parts, and is one slice', async () => {
  const faults = { 'body-limit': { share: 1, amount: 60_000 } };
  const outcome = await virtualRun({ ...transactions, days: 23, server: { faults } });
  expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0 });
  expect(outcome.summaries[0]?.slices).toBe(3);
  expect(outcome.struck).toBeGreaterThan(3);
});

test('where no part of a day can be read either, the others are not read in parts for it', async () => {
  const faults = { 'body-limit': { share: 1, amount: 20 } };
  const outcome = await virtualRun({ ...transactions, server: { faults } });
  expect(outcome.failure).toMatchObject({ cause: { kind: 'invalid' } });
  expect(outcome).toMatchObject({ doubled: 0, throttled: 0 });
  // A request of each length, four times: of the first window down to minutes, of three more down to days.
  expect(outcome.requests).toBeLessThan(120);
});

/** Far apart, and each request once: its attempts may arrive as far apart as others are hit, and four would be the end of its patience. */
function farApart(requests: number): (request: FaultRequest) => boolean {
  let last = -Infinity;
  const hit = new Set<string>();
  return ({ number, operation, parameters }) => {
    const request = `${operation} ${JSON.stringify(parameters)}`;
    if (number - last < requests || hit.has(request)) return false;
    last = number;
    hit.add(request);
    return true;
  };
}

test.each([
  [
    'an access token that expires for no reason',
    { faults: { 'access-token-expired': { share: 1, times: 5, when: farApart(5) } } },
    5,
  ],
  [
    'access tokens that live no longer than ten seconds',
    { signIn: { clientId: 'client', clientSecret: 'its secret', accessTokenLifeMs: 10_000 } },
    0,
  ],
  [
    'three of them dead one after the other, just as they come',
    { faults: { 'access-token-expired': { share: 1, times: 3 } } },
    3,
  ],
] as const)('%s: another one is asked for, and no row is lost or doubled', async (_what, server, struck) => {
  const outcome = await virtualRun({ ...small, signsIn: true, quota: { rate: 0.5, burst: 5 }, server });
  expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0, struck });
  expect(outcome.signIns).toBeGreaterThan(1);
  expect(outcome.signIns).toBeLessThanOrEqual(Math.max(struck + 1, 1 + outcome.seconds / 8));
});

test('access tokens that are refused without end stop the run, and it says what to check', async () => {
  const server = { faults: { 'access-token-expired': { share: 1 } } };
  const outcome = await virtualRun({ ...small, signsIn: true, server });
  expect(outcome.failure).toMatchObject({ kind: 'denied' });
  expect(String(outcome.failure)).toMatch(/check that the sign-in and the endpoint belong together/);
  expect(outcome.signIns).toBeLessThanOrEqual(12);
});

test('pages of ten results that are too large are read by less, down to one', async () => {
  const faults = { 'body-limit': { share: 1, amount: 9000 } };
  const outcome = await virtualRun({ ...small, events: 300, quota: { rate: 20, burst: 30 }, server: { faults } });
  expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0 });
  expect(outcome.struck).toBeGreaterThan(5);
});

test('denied access stops the run at once, and says what to check', async () => {
  const outcome = await virtualRun({ ...small, server: { faults: { 'access-denied': { share: 1 } } } });
  expect(outcome.failure).toMatchObject({ kind: 'denied' });
  expect(outcome.requests).toBeLessThanOrEqual(3);
});

test('a slice that can not be read is left open, and the others go on', async () => {
  const isPoisoned = ({ parameters }: FaultRequest): boolean => (parameters['PostedAfter'] ?? '').startsWith('2026-06');
  const outcome = await virtualRun({ ...small, server: { faults: { 'server-error': { when: isPoisoned } } } });
  expect(outcome.failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(outcome.doubled).toBe(0);
  expect(outcome.lost).toBeGreaterThan(0);
  expect(outcome.summaries[0]?.slices).toBeGreaterThan(0);
});
