import { describe, expect, test } from 'vitest';
import { rewritten } from '../../../src/emulator/faults/faulty-transactions.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { isObject, type JsonObject, textOf } from '../seller/reading.js';
import {
  day,
  idOf,
  iso,
  listIn,
  pages,
  paths,
  payloadOf,
  start,
  startSeller,
  statusOf,
  transactionsOf,
} from '../../serve/transactions/seller-server.js';

const week = { postedAfter: iso(start - 40 * day), postedBefore: iso(start - 33 * day) };
const month = { ...week, postedBefore: iso(start - 10 * day) };

const faulty = (faults: Faults) => startSeller({ events: 3000, faults });

/** What a service without faults answers. */
const plain = async (query = week) => transactionsOf(await startSeller({ events: 3000 }), query);

/** Every object in a transaction, from the top. */
function* objectsIn(value: unknown): Generator<JsonObject> {
  if (Array.isArray(value)) for (const element of value as unknown[]) yield* objectsIn(element);
  else if (typeof value === 'object' && value !== null) {
    yield value as JsonObject;
    for (const member of Object.values(value)) yield* objectsIn(member);
  }
}

test('other members are written and all else stays byte for byte', () => {
  const json = '{"a":[{"b":1.50,"c":"\\u00e4[]"},[],{}],"b":[],"d":null}';
  expect(rewritten(json, (_name, value) => value)).toBe(json);
  expect(rewritten(json, (name, value) => (name === 'b' ? undefined : value))).toBe(
    '{"a":[{"c":"\\u00e4[]"},[],{}],"d":null}',
  );
});

test('null-lists: no list is empty, some are null and some absent', async () => {
  const server = await faulty({ 'null-lists': {} });
  const answers = await pages(server, paths.transactions, week);
  const text = answers.map((answer) => answer.text).join('');
  expect(text).not.toContain('":[]');
  expect(text).toContain('"breakdowns":null');
  const nodes = [...objectsIn(answers.map(({ body }) => body))].filter((one) => 'breakdownType' in one);
  expect(nodes.some((node) => !('breakdowns' in node))).toBe(true);
  const ids = answers.flatMap((answer) => listIn(payloadOf(answer), 'transactions')).map(idOf);
  expect(ids).toEqual((await plain()).map(idOf));
  expect(server.server.counts.faults('null-lists')).toBe(ids.length);
});

test('breakdown-object: a share of the transactions has its lists in objects', async () => {
  const transactions = await transactionsOf(await faulty({ 'breakdown-object': { share: 0.5 } }), week);
  const isHit = ({ breakdowns }: JsonObject) => isObject(breakdowns) && Array.isArray(breakdowns['breakdowns']);
  const hit = transactions.filter(isHit);
  expect(hit.length / transactions.length).toBeGreaterThan(0.3);
  expect(hit.length / transactions.length).toBeLessThan(0.7);
});

test('status-case: the words are the same without case', async () => {
  const shown = (await transactionsOf(await faulty({ 'status-case': {} }), week)).map(statusOf);
  expect(new Set(shown)).toEqual(new Set(['Released', 'Deferred_Released']));
  expect(shown.map((status) => status.toUpperCase())).toEqual((await plain()).map(statusOf));
});

test('no-transactions: all of the newer API answers nothing, v0 what it has', async () => {
  const server = await faulty({ 'no-transactions': {} });
  expect(await transactionsOf(server, week)).toEqual([]);
  expect((await server.get(paths.payouts)).text).toBe('{"payouts":[]}');
  expect((await server.get(paths.summary, { periodStart: '2025-05-01' })).text).toBe('{"summaries":[]}');
  const v0 = await server.get('/finances/v0/financialEvents', { PostedAfter: iso(start - 10 * day) });
  expect(v0.text).toContain('"PostedDate"');
});

test('no-list: 200 without a list', async () => {
  const server = await faulty({ 'no-list': { times: 1 } });
  const first = await server.get(paths.transactions, week);
  expect([first.status, first.text]).toEqual([200, '{"payload":{}}']);
  expect(payloadOf(await server.get(paths.transactions, week))).toHaveProperty('transactions');
});

test('null-token: the last page says so', async () => {
  const answer = await (await faulty({ 'null-token': {} })).get(paths.transactions, week);
  expect(answer.text).toMatch(/"nextToken":null\}\}$/);
});

describe('deep-500', () => {
  test('fails each later page of a long range, again and again', async () => {
    const server = await faulty({ 'deep-500': {} });
    const first = await server.get(paths.transactions, month);
    const nextToken = textOf(payloadOf(first)['nextToken']);
    for (let attempt = 0; attempt < 3; attempt++) {
      const later = await server.get(paths.transactions, { ...month, nextToken });
      expect([later.status, later.text]).toEqual([500, expect.stringContaining('InternalFailure')]);
    }
  });

  test('lets short ranges pass', async () => {
    const server = await faulty({ 'deep-500': { amount: 8 } });
    const long = await server.get(paths.transactions, month);
    expect(payloadOf(long)).toHaveProperty('nextToken');
    const parts = { postedAfter: month.postedAfter, postedBefore: iso(start - 32 * day) };
    expect(await transactionsOf(server, parts)).toEqual(await plain(parts));
  });
});

test('page-twice: a page comes once more', async () => {
  const server = await faulty({ 'page-twice': { share: 1, times: 1 } });
  const answers = await pages(server, paths.transactions, month);
  const [first = [], second = [], ...rest] = answers.map((answer) => listIn(payloadOf(answer), 'transactions'));
  expect(second).toEqual(first);
  expect([...first, ...rest.flat()]).toEqual(await plain(month));
});

test('empty-page: a page without results has a token', async () => {
  const server = await faulty({ 'empty-page': { times: 1 } });
  const answers = await pages(server, paths.transactions, week);
  expect(listIn(payloadOf(answers[0] ?? expect.fail()), 'transactions')).toEqual([]);
  expect(answers.flatMap((answer) => listIn(payloadOf(answer), 'transactions'))).toEqual(await plain());
});

test('token-without-arguments: a token is taken alone, and refused with others', async () => {
  const server = await faulty({ 'token-without-arguments': {} });
  const first = await server.get(paths.transactions, month);
  const nextToken = textOf(payloadOf(first)['nextToken']);
  const alone = await server.get(paths.transactions, { nextToken });
  const together = await server.get(paths.transactions, { ...month, nextToken });
  expect(listIn(payloadOf(alone), 'transactions')).toEqual(listIn(payloadOf(together), 'transactions'));
  expect((await server.get(paths.transactions, { ...week, nextToken })).status).toBe(400);
});

test('recent-incomplete and history-limit hide transactions too', async () => {
  const range = { postedAfter: iso(start - 60 * day) };
  const server = await faulty({ 'history-limit': { amount: 20 }, 'recent-incomplete': { share: 1 } });
  const all = await plain(range as typeof week);
  const shown = await transactionsOf(server, range);
  const postedAt = (one: JsonObject) => Date.parse(textOf(one['postedDate']));
  const between = (list: readonly JsonObject[]) => list.filter((one) => postedAt(one) < start - 2 * day).map(idOf);
  expect(Math.min(...shown.map(postedAt))).toBeGreaterThanOrEqual(start - 20 * day);
  expect(between(shown)).toEqual(between(all.filter((one) => postedAt(one) >= start - 20 * day)));
  expect(shown.length - between(shown).length).toBeLessThan(
    all.filter((one) => postedAt(one) >= start - 2 * day).length,
  );
});

test('token-loop: a page comes with the token that asked for it', async () => {
  const server = await faulty({ 'token-loop': { when: ({ hasToken }) => hasToken, times: 1 } });
  const answers = await pages(server, paths.transactions, month);
  const [, second = [], third = []] = answers.map((answer) => listIn(payloadOf(answer), 'transactions'));
  expect(third).toEqual(second);
  expect(new Set(answers.flatMap((answer) => listIn(payloadOf(answer), 'transactions')).map(idOf)).size).toBe(
    (await plain(month)).length,
  );
});

test('page-limit leaves alone what has no parameter for the size of a page', async () => {
  const server = await faulty({ 'page-limit': {} });
  expect((await server.get(paths.transactions, week)).status).toBe(200);
  expect((await server.get('/finances/v0/financialEvents', { PostedAfter: iso(start - day) })).status).toBe(400);
});

test('early-release: a share of the sales says that it matures later than it is released', async () => {
  const range = { postedAfter: iso(start - 30 * day) } as typeof week;
  const matures = (one: JsonObject) =>
    listIn(one, 'contexts').flatMap(({ maturityDate }) => (maturityDate === undefined ? [] : [textOf(maturityDate)]));
  const plainly = new Map((await plain(range)).map((one) => [idOf(one), matures(one)]));
  const server = await faulty({ 'early-release': { share: 0.5, amount: 3 } });
  const shown = await transactionsOf(server, range);
  expect(shown.map(idOf)).toEqual([...plainly.keys()]);
  const later = shown.filter((one) => matures(one).join() !== plainly.get(idOf(one))?.join());
  expect(later.length).toBe(server.server.counts.faults('early-release'));
  expect(later.some((one) => statusOf(one) === 'DEFERRED')).toBe(true);
  for (const one of later) {
    expect(Date.parse(matures(one).join())).toBe(Date.parse(plainly.get(idOf(one))?.join() ?? '') + 3 * day);
  }
});

test('withdrawn: a share of the deferred sales is gone before it matures, and is never released', async () => {
  const range = { postedAfter: iso(start - 30 * day) } as typeof week;
  const all = await plain(range);
  const shown = new Set((await transactionsOf(await faulty({ withdrawn: { share: 0.5 } }), range)).map(idOf));
  const gone = all.filter((one) => !shown.has(idOf(one)));
  const goneOf = (status: string) => gone.filter((one) => statusOf(one) === status).length;
  for (const status of ['DEFERRED', 'DEFERRED_RELEASED', 'RELEASED']) {
    expect(goneOf(status)).toBeGreaterThan(0);
    expect(all.filter((one) => statusOf(one) === status).length).toBeGreaterThan(goneOf(status));
  }
  const released = (one: JsonObject) =>
    listIn(one, 'relatedIdentifiers').find((each) => each['relatedIdentifierName'] === 'DEFERRED_TRANSACTION_ID');
  for (const one of gone) if (statusOf(one) === 'RELEASED') expect(released(one)).toBeDefined();
  for (const one of all) {
    const id = released(one)?.['relatedIdentifierValue'];
    // Where the sale itself is in the range both are gone, or none is.
    if (id !== undefined && all.some((other) => idOf(other) === textOf(id))) {
      expect(shown.has(textOf(id))).toBe(shown.has(idOf(one)));
    }
  }
});
