import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import {
  backfill,
  createFinancesClient,
  openLake,
  type AccountOptions,
  type BackfillOptions,
  type FinancesClient,
  type FinancesOperation,
  type FinancesParameters,
  type RunEvent,
} from '../../src/index.js';
import { apis } from '../../src/sources/finances/api-names.js';
import { financesApis } from '../../src/sources/finances/finances-apis.js';
import { secrets } from '../engine/auth/token-endpoint.js';
import { from, servedShop, to } from './served.js';

async function clientFor(
  { endpoint, account, rate, burst }: Awaited<ReturnType<typeof servedShop>>,
  options: AccountOptions = {},
): Promise<FinancesClient> {
  const client = await createFinancesClient({ endpoint, account, rate, burst, ...options });
  onTestFinished(() => client.close());
  return client;
}

test('programs are told of every operation and every API that there is', () => {
  const operations: Readonly<Record<FinancesOperation, true>> = {
    ListFinancialEventGroups: true,
    ListFinancialEvents: true,
    ListFinancialEventsByGroupId: true,
    ListFinancialEventsByOrderId: true,
    listTransactions: true,
    listSummary: true,
    listPayouts: true,
  };
  const known = financesApis.flatMap((api) => Object.keys(api.operations));
  expect(Object.keys(operations).toSorted()).toEqual(known.toSorted());
  const named: Readonly<Record<NonNullable<BackfillOptions['api']>, true>> = {
    v0: true,
    '2024-06-19': true,
    both: true,
  };
  expect(Object.keys(named).toSorted()).toEqual([...apis].toSorted());
});

const posted = { PostedAfter: from, PostedBefore: to.toISOString() };

test('pages hold what the service gave, byte for byte, and results are those of the lake', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const client = await clientFor(shop);
  expect(client.account).toBe('shop');
  const read: string[] = [];
  let pages = 0;
  for await (const { body, results } of client.pages('ListFinancialEvents', posted)) {
    pages++;
    const text = new TextDecoder().decode(body);
    expect(JSON.parse(text)).toHaveProperty('payload.FinancialEvents');
    for (const { list, json } of results) {
      expect(text).toContain(json.raw);
      read.push(`${list} ${json.raw}`);
    }
  }
  expect(pages).toBeGreaterThan(1);
  const lake = await openLake(shop.lake);
  const rows = await lake.sql("SELECT event_list || ' ' || raw AS event FROM events");
  await lake.close();
  expect(read.toSorted()).toEqual(rows.map(({ event }) => String(event)).toSorted());

  const one: string[] = [];
  for await (const { list, json } of client.results('ListFinancialEvents', posted)) one.push(`${list} ${json.raw}`);
  expect(one).toEqual(read);
});

test('every operation of both APIs is read, and numbers stay exact', async () => {
  const client = await clientFor(await servedShop());
  const first = async (operation: FinancesOperation, parameters: FinancesParameters) => {
    for await (const result of client.results(operation, parameters)) return result;
    throw new Error(`${operation} gave nothing`);
  };
  const started = { FinancialEventGroupStartedAfter: new Date(from.getTime() - 60 * 86_400_000) };
  const group = await first('ListFinancialEventGroups', started);
  expect(group.list).toBe('');
  const eventGroupId = group.json.at('FinancialEventGroupId')?.text;
  expect((await first('ListFinancialEventsByGroupId', { eventGroupId })).list).toMatch(/List$/);
  let orderId: string | undefined;
  for await (const { json } of client.results('ListFinancialEvents', posted)) {
    orderId = json.at('AmazonOrderId')?.text;
    if (orderId !== undefined) break;
  }
  expect((await first('ListFinancialEventsByOrderId', { orderId })).json.at('AmazonOrderId')?.text).toBe(orderId);
  const transaction = await first('listTransactions', { postedAfter: from, postedBefore: to });
  expect(transaction.json.at('totalAmount', 'currencyAmount')?.text).toMatch(/^-?\d+(\.\d+)?$/);
  const payout = await first('listPayouts', { createdAfter: new Date(from.getTime() - 60 * 86_400_000) });
  expect(payout.json.keys().length).toBeGreaterThan(2);
});

test('requests are paced, refusals are waited for, and a token that has expired is recovered from', async () => {
  const shop = await servedShop({
    faults: { 'server-error': { share: 1, times: 1 }, 'token-expired': { share: 1, times: 1 } },
  });
  const events: RunEvent[] = [];
  const client = await clientFor(shop, { rate: 50, onEvent: (event) => events.push(event) });
  const ids = new Set<string>();
  let count = 0;
  for await (const { list, json } of client.results('ListFinancialEvents', posted)) {
    ids.add(`${list} ${json.raw}`);
    count++;
  }
  const undisturbed = await clientFor(await servedShop());
  let expected = 0;
  for await (const { results } of undisturbed.pages('ListFinancialEvents', posted)) expected += results.length;
  expect(count).toBe(expected);
  const causes = events.flatMap((event) => (event.event === 'request-failed' ? [event.cause] : []));
  expect(causes).toEqual(expect.arrayContaining(['fault', 'cursor-expired']));
  expect(events.map(({ event }) => event)).toContain('bucket-changed');
  expect(events.find(({ event }) => event === 'request-sent')).toMatchObject({
    operation: 'ListFinancialEvents',
    pipeline: 'ListFinancialEvents',
  });
});

test('reading ends with its loop, with its signal, with the client, and with what the listener throws', async () => {
  const shop = await servedShop();
  const client = await clientFor(shop);
  for await (const page of client.pages('ListFinancialEvents', posted)) {
    expect(page.results.length).toBeGreaterThan(0);
    break;
  }
  const stopping = new AbortController();
  const stopped = async () => {
    for await (const page of client.pages('ListFinancialEvents', posted, { signal: stopping.signal })) {
      expect(page.body.length).toBeGreaterThan(0);
      stopping.abort();
    }
  };
  await expect(stopped()).rejects.toMatchObject({ code: 'STOPPED', retryable: true });
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);

  const fault = new Error('the listener is wrong');
  const noisy = await clientFor(shop, {
    onEvent: () => {
      throw fault;
    },
  });
  await expect(noisy.pages('ListFinancialEvents', posted)[Symbol.asyncIterator]().next()).rejects.toBe(fault);

  const pages = client.pages('ListFinancialEvents', posted)[Symbol.asyncIterator]();
  await pages.next();
  await client.close();
  await expect(pages.next()).rejects.toMatchObject({ code: 'STOPPED', message: 'the client was closed' });
});

test('a sign-in goes by the credentials, and no event has them', async () => {
  const shop = await servedShop({ signIn: { ...secrets, refreshTokens: [secrets.refreshToken] } });
  const told: RunEvent[] = [];
  const credentials = { ...secrets, tokenEndpoint: `${shop.endpoint}/auth/o2/token` };
  const client = await clientFor(shop, { credentials, onEvent: (event) => told.push(event) });
  for await (const { results } of client.pages('ListFinancialEvents', posted)) expect(results).toBeDefined();
  expect(told.length).toBeGreaterThan(0);
  for (const secret of Object.values(secrets)) expect(JSON.stringify(told)).not.toContain(secret);
  const wrong = await clientFor(shop, { credentials: { ...credentials, refreshToken: 'revoked' } });
  await expect(wrong.pages('ListFinancialEvents', posted)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'SIGN_IN_REFUSED',
  });
});

test('an operation or a parameter that there is not, and a value that is none, are refused at once', async () => {
  const client = await clientFor(await servedShop());
  const asked = (operation: string, parameters: object) => () =>
    client.pages(operation as FinancesOperation, parameters as FinancesParameters);
  expect(asked('ListFinancialEvent', {})).toThrow(/got "ListFinancialEvent"; did you mean ListFinancialEvents\?/);
  expect(asked('toString', {})).toThrow(/expected an operation/);
  expect(asked('ListFinancialEvents', { postedAfter: from })).toThrow(/did you mean PostedAfter\?/);
  expect(asked('ListFinancialEvents', { NextToken: 'x' })).toThrow(/expected a parameter of ListFinancialEvents/);
  expect(asked('ListFinancialEvents', { PostedAfter: 'never' })).toThrow(/expected PostedAfter to be a Date/);
  expect(asked('ListFinancialEvents', { PostedAfter: 5 })).toThrow(/expected PostedAfter to be a Date/);
  expect(asked('listTransactions', { marketplaceId: '' })).toThrow(/expected marketplaceId to be a text/);
  await expect(createFinancesClient({ lake: 'here' } as never)).rejects.toThrow(/an option of createFinancesClient/);
});

test.each([
  ['ListFinancialEventsByGroupId', 'eventGroupId'],
  ['ListFinancialEventsByOrderId', 'orderId'],
] as const)('%s without %s is refused with status 400, and nothing is sent', async (operation, name) => {
  const client = await createFinancesClient({ endpoint: 'http://127.0.0.1:9', account: 'my-shop' });
  onTestFinished(() => client.close());
  for (const given of [{}, { [name]: undefined }, { [name]: null }, { [name]: '' }]) {
    const pages = client.pages(operation, given as FinancesParameters)[Symbol.asyncIterator]();
    await expect(pages.next()).rejects.toMatchObject({
      code: 'MISSING_PARAMETER',
      status: 400,
      message: expect.stringContaining(`the required parameter ${name} is missing`) as string,
    });
  }
});
