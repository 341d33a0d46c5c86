import { expect, test } from 'vitest';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { TransactionQuestion } from '../../../src/serve/api-2024-06-19/transaction-backend.js';
import { pageTooLarge } from '../../../src/serve/operation/outcome.js';
import { database, fileHashes, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock, synced } from '../load/synced.js';

const first = '2026-03-10T02:00:00Z';
const second = '2026-03-11T02:00:00Z';
const hourMs = 3_600_000;

/** A transaction as the service has it: from when on, and until when it is deferred. */
interface Sale {
  readonly id: string;
  readonly posted: string;
  readonly from?: string;
  readonly to?: string;
  readonly maturesAt?: string;
  readonly releasedAt?: string;
  readonly pays?: string;
  /** From when on it has another total. */
  readonly changesAt?: string;
  /** The date under which it is released, where that is another one. */
  readonly movesTo?: string;
}

const sales: readonly Sale[] = [
  ...Array.from({ length: 60 }, (_, at) => ({ id: `steady-${at}`, posted: hour(8 * at) })),
  { id: 'due', posted: '2026-03-08T05:00:00Z', maturesAt: '2026-03-10T20:00:00Z', releasedAt: '2026-03-10T20:00:00Z' },
  {
    id: 'early',
    posted: '2026-03-04T05:00:00Z',
    maturesAt: '2026-03-20T00:00:00Z',
    releasedAt: '2026-03-10T21:00:00Z',
  },
  { id: 'open', posted: '2026-03-05T05:00:00Z', maturesAt: '2026-03-20T00:00:00Z' },
  { id: 'paid due', posted: '2026-03-10T20:00:00Z', pays: 'due' },
  { id: 'paid early', posted: '2026-03-10T21:00:00Z', pays: 'early' },
  { id: 'late', posted: '2026-03-09T12:00:00Z', from: '2026-03-10T12:00:00Z' },
];

/** `2026-02-20T01:00:00Z` and so many hours on. */
function hour(hours: number): string {
  return new Date(Date.parse('2026-02-20T01:00:00Z') + hours * hourMs).toISOString().replace('.000Z', 'Z');
}

function jsonOf(
  { id, posted, maturesAt, releasedAt, pays, changesAt }: Sale,
  now: number,
): { status: string; json: string } {
  const isDeferred = maturesAt !== undefined && !(Date.parse(releasedAt ?? '9999-01-01T00:00:00Z') <= now);
  const status = isDeferred ? 'DEFERRED' : maturesAt === undefined ? 'RELEASED' : 'DEFERRED_RELEASED';
  const json = JSON.stringify({
    transactionId: id,
    transactionType: 'Shipment',
    transactionStatus: status,
    ...(posted !== '' && { postedDate: posted }),
    totalAmount: {
      currencyCode: 'EUR',
      currencyAmount: changesAt !== undefined && Date.parse(changesAt) <= now ? 8.25 : 7.5,
    },
    relatedIdentifiers:
      pays === undefined ? [] : [{ relatedIdentifierName: 'DEFERRED_TRANSACTION_ID', relatedIdentifierValue: pays }],
    contexts: maturesAt === undefined ? [] : [{ contextType: 'DeferredContext', maturityDate: maturesAt }],
  });
  return { status, json };
}

interface Dated {
  readonly postedDate: string;
}

/** What a service answers in the place of these sales; undefined: nothing else. */
type Odd = (question: TransactionQuestion) => readonly Sale[] | undefined;

/** Two nights over the sales: how the lake differs from a fresh one, and what the second night asked for. */
async function twoNights(odd: Odd = () => undefined, more: readonly Sale[] = []) {
  const clock = setClock(first);
  const asked: TransactionQuestion[] = [];
  const nothing = async () => Promise.resolve({ items: [], next: undefined });
  let isOdd = false;
  const backend: Backend = {
    groups: nothing,
    events: nothing,
    eventsOfGroup: nothing,
    eventsOfOrder: nothing,
    byTransaction: {
      summaries: nothing,
      payouts: nothing,
      transactions: (question, { asOf }) => {
        asked.push(question);
        const { range, status } = question;
        const dated = [...sales, ...more].map(({ movesTo, ...sale }) =>
          movesTo !== undefined && Date.parse(sale.releasedAt ?? '') <= asOf ? { ...sale, posted: movesTo } : sale,
        );
        const answered = (isOdd ? odd(question) : undefined) ?? dated.filter(isIn(range));
        const items = answered
          .filter(({ posted, from = posted }) => Date.parse(from === '' ? first : from) <= asOf)
          .filter(({ to }) => to === undefined || asOf < Date.parse(to))
          .map((sale) => ({ ...jsonOf(sale, asOf), list: '' }))
          .filter((one) => (status ?? one.status) === one.status);
        return Promise.resolve({ items, next: undefined });
      },
    },
  };
  const given = { lake: await temporaryFolder(), account: 'shop', pipelines: ['transactions'], from: '2026-02-20' };
  const endpoint = await serving({ backend, clock });
  await ran({ ...given, endpoint }, { clock });
  clock.set(second);
  asked.length = 0;
  isOdd = true;
  const { failure, summary } = await synced({ ...given, endpoint, lookBack: 2 }, { clock });
  const night = asked.map(({ status = 'ALL', range: { start, end } }) =>
    [status, ...[start, end].map((at) => new Date(at).toISOString().slice(5, 16))].join(' '),
  );
  isOdd = false;
  const fresh = await temporaryFolder();
  await ran({ ...given, endpoint, lake: fresh }, { clock });
  const rows = async (lake: string) => {
    const found = await (
      await database(lake, clock)
    ).rows('SELECT transaction_id, status, raw FROM transactions ORDER BY ALL');
    return found.map((row) => JSON.stringify(Object.values(row)));
  };
  return { failure, summary, night, held: await rows(given.lake), wanted: await rows(fresh) };
}

/** One without a date is answered with what is of noon on 9 March. */
function isIn({ start, end }: TransactionQuestion['range']): (sale: Sale) => boolean {
  return ({ posted }) => {
    const at = Date.parse(posted === '' ? '2026-03-09T12:00:00Z' : posted);
    return at >= start && at < end;
  };
}

test('the new days and the look-back are one chain, also where it begins within a long window', async () => {
  const { failure, summary, night, held, wanted } = await twoNights();
  expect(failure).toBeUndefined();
  expect(held).toEqual(wanted);
  expect(held.join()).toContain('"DEFERRED_RELEASED"');
  expect(held.join()).toContain('"late"');
  expect(night).toEqual([
    'ALL 03-09T00:00 03-11T01:55',
    'DEFERRED 03-01T00:00 03-10T01:55',
    'DEFERRED_RELEASED 03-04T05:00 03-08T05:00',
  ]);
  expect(summary.pipelines['transactions']?.['warnings']).not.toHaveProperty('repeated');
  expect(summary.changes['transactions']).toMatchObject({ vanished: 0, released: 2 });
});

test('of many deferred sales those are asked for that are due, or paid by what came in the same night', async () => {
  const more = Array.from({ length: 5020 }, (_, at) => ({
    id: `deferred-${at}`,
    posted: `2026-03-06T12:${String(at % 60).padStart(2, '0')}:00Z`,
    maturesAt: '2026-03-25T00:00:00Z',
  }));
  const { failure, night, held, wanted } = await twoNights(undefined, more);
  expect(failure).toBeUndefined();
  expect(held).toEqual(wanted);
  expect(night).toEqual(['ALL 03-09T00:00 03-11T01:55', 'DEFERRED_RELEASED 03-04T05:00 03-08T05:00']);
});

const open = { maturesAt: '2026-03-20T00:00:00Z' };
const secondNight = '2026-03-10T12:00:00Z';
const deferredList = 'DEFERRED 03-01T00:00 03-10T01:55';

test.each<readonly [what: string, sale: Sale, requests: readonly string[]]>([
  [
    'whose amount changes',
    { ...open, id: 'dearer', posted: '2026-03-06T05:00:00Z', changesAt: secondNight },
    ['DEFERRED_RELEASED 03-04T05:00 03-08T05:00'],
  ],
  [
    'that comes after days',
    { ...open, id: 'slow', posted: '2026-03-02T05:00:00Z', from: secondNight },
    ['DEFERRED_RELEASED 03-04T05:00 03-08T05:00', 'ALL 03-01T00:00 03-08T00:00'],
  ],
  [
    'without an id that is released',
    { ...open, id: '', posted: '2026-03-02T05:00:00Z', releasedAt: secondNight },
    ['DEFERRED_RELEASED 03-02T05:00 03-08T05:00', 'ALL 03-01T00:00 03-08T00:00'],
  ],
  [
    'that is released under another date',
    { ...open, id: 'moved', posted: '2026-03-02T05:00:00Z', releasedAt: secondNight, movesTo: '2026-03-08T04:00:00Z' },
    ['DEFERRED_RELEASED 03-02T05:00 03-08T05:00', 'ALL 03-01T00:00 03-08T00:00', 'ALL 03-08T00:00 03-10T01:55'],
  ],
  [
    'that is gone before it is due',
    { ...open, id: 'gone', posted: '2026-03-06T05:00:00Z', to: secondNight },
    ['DEFERRED_RELEASED 03-04T05:00 03-08T05:00', 'ALL 03-01T00:00 03-08T00:00'],
  ],
])('the list of what is deferred shows a sale %s', async (_what, sale, requests) => {
  const { failure, night, held, wanted } = await twoNights(undefined, [sale]);
  expect(failure).toBeUndefined();
  expect(held).toEqual(wanted);
  expect(night).toEqual(['ALL 03-09T00:00 03-11T01:55', deferredList, ...requests]);
});

const isChain = ({ range: { start, end }, status }: TransactionQuestion) =>
  status === undefined && end - start > 30 * hourMs && start >= Date.parse('2026-03-09T00:00:00Z');

test.each<readonly [what: string, odd: Odd, more: readonly Sale[]]>([
  ['has a transaction without a date', () => undefined, [{ id: 'undated', posted: '' }]],
  [
    'has a transaction of another day',
    (question) =>
      isChain(question) ? [...sales.filter(isIn(question.range)), { id: 'x', posted: hour(1) }] : undefined,
    [],
  ],
  ['is empty where days held something', (question) => (isChain(question) ? [] : undefined), []],
])('where the chain %s, windows are read one by one', async (_what, odd, more) => {
  const { failure, night, held, wanted } = await twoNights(odd, more);
  expect(failure).toBeUndefined();
  expect(held).toEqual(wanted);
  expect(held.join()).toContain('"late"');
  expect(night[0]).toBe('ALL 03-09T00:00 03-11T01:55');
  expect(night).toContain('ALL 03-08T00:00 03-10T01:55');
});

test('a chain that is too large is read in parts', async () => {
  const { failure, night, held, wanted } = await twoNights((question) => {
    if (isChain(question)) throw pageTooLarge(1);
    return undefined;
  });
  expect(failure).toBeUndefined();
  expect(held).toEqual(wanted);
  expect(night).not.toContain('ALL 03-08T00:00 03-10T01:55');
});

test('what comes again in another order is no change, and nothing is written', async () => {
  const clock = setClock(first);
  const nothing = async () => Promise.resolve({ items: [], next: undefined });
  const steady = Array.from({ length: 200 }, (_, at) => jsonOf({ id: `steady-${at}`, posted: hour(at) }, clock.now()));
  let order = steady;
  const backend: Backend = {
    groups: nothing,
    events: nothing,
    eventsOfGroup: nothing,
    eventsOfOrder: nothing,
    byTransaction: {
      summaries: nothing,
      payouts: nothing,
      transactions: ({ range }) => {
        const posted = ({ json }: { json: string }) => ({ posted: (JSON.parse(json) as Dated).postedDate });
        const items = order.filter((one) => isIn(range)({ id: '', ...posted(one) }));
        return Promise.resolve({ items: items.map((one) => ({ ...one, list: '' })), next: undefined });
      },
    },
  };
  const endpoint = await serving({ backend, clock });
  const lake = await temporaryFolder();
  const given = { lake, endpoint, account: 'shop', pipelines: ['transactions'], from: '2026-02-20', to: '2026-03-01' };
  await ran(given, { clock });
  const files = async () => [...(await fileHashes(lake))].filter(([path]) => path.endsWith('.parquet'));
  const before = await files();
  expect(before.length).toBeGreaterThan(1);
  order = steady.toReversed();
  const { summary } = await ran({ ...given, refresh: true }, { clock });
  expect(summary.pipelines['transactions']).toMatchObject({ events: 200, files: 0 });
  expect(await files()).toEqual(before);
});
