import { describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/core/windows.js';
import { customPipeline, type CustomPipeline } from '../../../src/sources/custom/custom-pipeline.js';
import { loadDefinitions } from '../../../src/sources/custom/load-definitions.js';
import { ran, temporaryFolder, type Ran } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { rowOf, type OwnRun } from './custom-run.js';
import { exampleService, type Answered, type Asked } from './example-service.js';

const definitions = await loadDefinitions('examples/pipelines', { pipelines: [], tables: [] });

function exampleNamed(name: string): CustomPipeline {
  const loaded = definitions.find(({ definition }) => definition.name === name);
  if (loaded === undefined) throw new Error(`there is no ${name}`);
  return customPipeline(loaded);
}

/** Backfills an example for the account my-shop; pauses of seconds go by in milliseconds. */
async function backfilled(name: string, options: OwnRun): Promise<Ran> {
  const { clock = runningClock('2025-04-01T00:00:00Z', 200), logged = [], emitted = [], ...others } = options;
  const own = [exampleNamed(name)];
  return ran({ pipelines: [name], account: 'my-shop', own, ...others }, { clock, logged, emitted });
}

const january = { from: '2025-01-01', to: '2025-02-01' };

/** Instants of a list, one every six hours of January. */
const times = Array.from({ length: 124 }, (_, number) => Date.UTC(2025, 0, 1, 6 * number));

/** Numbers of the times from one instant to another, which is not included. */
function numbersWithin(from: number, to: number): number[] {
  return times.flatMap((time, number) => (time >= from && time < to ? [number] : []));
}

describe('Stripe', () => {
  const answer = ({ query, headers }: Asked): Answered => {
    if (headers.authorization !== 'Bearer sk_of_my_shop')
      return { status: 401, body: { error: { message: 'bad key' } } };
    const within = numbersWithin(Number(query.get('created[gte]')) * 1000, Number(query.get('created[lt]')) * 1000);
    // The newest come first, and the cursor is the last one's id.
    const list = within.reverse().map((number) => `txn_${String(number)}`);
    const after = query.get('starting_after');
    const begin = after === null ? 0 : list.indexOf(after) + 1;
    const size = Math.min(10, Number(query.get('limit')));
    const data = list.slice(begin, begin + size).map((id) => {
      const number = Number(id.slice(4));
      const seconds = (times[number] ?? 0) / 1000;
      const currency = number % 4 === 0 ? 'jpy' : 'eur';
      const source = { id: `ch_${number}` };
      const amounts = { amount: 1000 + number, fee: 59, net: 941 + number };
      return { id, created: seconds, available_on: seconds + 86_400, currency, type: 'charge', source, ...amounts };
    });
    return { body: { object: 'list', has_more: begin + size < list.length, data } };
  };

  test('a cursor that is an id, epochs, minor units exactly, a list of values, headers of a request, a key of the account', async () => {
    const { url, asked } = await exampleService(answer);
    const lake = await temporaryFolder();
    const environment = { STRIPE_URL: url, STRIPE_KEY_MY_SHOP: 'sk_of_my_shop' };
    const { summary } = await backfilled('stripe-balance', { lake, ...january, environment });
    expect(summary.pipelines['stripe-balance']).toMatchObject({ requests: asked.length, retries: 0 });
    expect(
      await rowOf(lake, 'SELECT count(*) AS n, count(DISTINCT transaction_id) AS ids FROM stripe_balance'),
    ).toEqual({
      n: 124n,
      ids: 124n,
    });
    const sums =
      "SELECT sum(amount) FILTER (currency = 'EUR') AS eur, sum(amount) FILTER (currency = 'JPY') AS jpy, " +
      'bool_and(epoch(available_at) - epoch(created_at) = 86400) AS days, bool_and(amount - fee = net) AS adds_up, ' +
      'min(source_id) AS source FROM stripe_balance';
    const eur = times.reduce((sum, _, number) => sum + (number % 4 === 0 ? 0 : 1000 + number), 0);
    const jpy = times.reduce((sum, _, number) => sum + (number % 4 === 0 ? 1000 + number : 0), 0);
    expect(await rowOf(lake, sums)).toEqual({
      eur: `${Math.floor(eur / 100)}.${String(eur % 100).padStart(2, '0')}0`,
      ...{ jpy: `${jpy}.000`, days: true, adds_up: true, source: 'ch_0' },
    });
    expect(asked.every(({ query }) => query.get('expand[]') === 'data.source')).toBe(true);
    expect(new Set(asked.map(({ headers }) => headers['stripe-version']))).toEqual(new Set(['2024-06-20']));
  });

  test('the key of another account is never sent', async () => {
    const { url, asked } = await exampleService(answer);
    const environment = { STRIPE_URL: url, STRIPE_KEY: 'sk_of_nobody', STRIPE_KEY_OTHER_SHOP: 'sk_of_another' };
    await expect(
      backfilled('stripe-balance', { lake: await temporaryFolder(), ...january, environment }),
    ).rejects.toThrow(/expected the environment variable STRIPE_KEY_MY_SHOP, which is not set/);
    expect(asked).toEqual([]);
  });
});

describe('Shopify', () => {
  interface Posted {
    readonly query: string;
    readonly variables: { readonly first: number; readonly after: string | null; readonly filter: string };
  }

  const answer = ({ method, body }: Asked): Answered => {
    const { variables } = JSON.parse(body) as Posted;
    const [, from = '', to = ''] = /created_at:>='(.*?)' created_at:<'(.*?)'/.exec(variables.filter) ?? [];
    const list = numbersWithin(Date.parse(from), Date.parse(to));
    const begin = variables.after === null ? 0 : list.indexOf(Number(variables.after)) + 1;
    const size = Math.min(10, variables.first);
    const nodes = list.slice(begin, begin + size).map((number) => {
      const money = (amount: number) => ({ shopMoney: { amount: `${amount}.10`, currencyCode: 'USD' } });
      const lines = Array.from({ length: number % 3 }, (_, line) => ({
        id: `gid://shopify/LineItem/${number}-${line}`,
        sku: line === 0 ? 'A' : null,
        quantity: line + 1,
        originalTotalSet: money(line),
      }));
      const createdAt = new Date(times[number] ?? 0).toISOString();
      const total = { totalPriceSet: money(number), lineItems: { nodes: lines } };
      return { id: `gid://shopify/Order/${number}`, name: `#${1000 + number}`, createdAt, ...total };
    });
    const pageInfo = { hasNextPage: begin + size < list.length, endCursor: String(list[begin + size - 1]) };
    return method === 'POST' ? { body: { data: { orders: { pageInfo, nodes } } } } : { status: 405 };
  };
  const environmentOf = (url: string) => ({ SHOPIFY_URL_MY_SHOP: url, SHOPIFY_TOKEN_MY_SHOP: 'shpat_of_my_shop' });
  const refused = (code: string) => ({ errors: [{ message: `it is ${code}`, extensions: { code } }] });

  test('posted queries, a cursor in the body, throttled with status 200', async () => {
    const { url, asked } = await exampleService((one, number) =>
      number === 2 ? { body: refused('THROTTLED') } : answer(one),
    );
    const lake = await temporaryFolder();
    const { summary } = await backfilled('shopify-orders', { lake, ...january, environment: environmentOf(url) });
    expect(summary.pipelines['shopify-orders']).toMatchObject({ requests: asked.length, retries: 1, throttled: 1 });
    const query = 'SELECT count(*) AS n, count(DISTINCT order_id) AS ids, sum(total) AS total FROM shopify_orders';
    expect(await rowOf(lake, query)).toEqual({ n: 124n, ids: 124n, total: `${(124 * 123) / 2 + 12}.40` });
    const items =
      'SELECT count(*) AS n, sum(quantity) AS pieces, sum(i.total) AS total, count(DISTINCT o.order_id) AS orders ' +
      'FROM shopify_order_items AS i JOIN shopify_orders AS o USING (order_id, window_start)';
    const [ones, twos] = [1, 2].map((rest) => times.filter((_, number) => number % 3 === rest).length);
    const lines = (ones ?? 0) + 2 * (twos ?? 0);
    expect(await rowOf(lake, items)).toMatchObject({
      ...{ n: BigInt(lines), pieces: BigInt((ones ?? 0) + 3 * (twos ?? 0)), orders: BigInt((ones ?? 0) + (twos ?? 0)) },
    });
    expect(new Set(asked.map(({ headers }) => headers['content-type']))).toEqual(new Set(['application/json']));
    expect(new Set(asked.map(({ headers }) => headers['x-shopify-access-token']))).toEqual(
      new Set(['shpat_of_my_shop']),
    );
  });

  test('a page of errors ends the run with what it says', async () => {
    const { url, asked } = await exampleService(() => ({ body: refused('ACCESS_DENIED') }));
    const environment = environmentOf(url);
    await expect(
      backfilled('shopify-orders', { lake: await temporaryFolder(), ...january, environment }),
    ).rejects.toThrow(/shopify-orders got status 200: it is ACCESS_DENIED/);
    // Windows side by side: none is asked for twice.
    expect(new Set(asked.map(({ body }) => body)).size).toBe(asked.length);
  });
});

describe('PayPal', () => {
  const tokens = { path: '/v1/oauth2/token', life: 32_400 };
  const environmentOf = (url: string) => ({
    PAYPAL_URL: url,
    PAYPAL_TOKEN_URL: url + tokens.path,
    PAYPAL_CLIENT_ID_MY_SHOP: 'client-of-my-shop',
    PAYPAL_CLIENT_SECRET_MY_SHOP: 'secret-of-my-shop',
  });

  /** Each window's days, and how many records it holds. */
  const answer = ({ path, query, headers, body }: Asked, issued: string[]): Answered => {
    if (path === tokens.path) {
      const login = Buffer.from('client-of-my-shop:secret-of-my-shop').toString('base64');
      const isOurs = headers.authorization === `Basic ${login}` && body === 'grant_type=client_credentials';
      if (!isOurs) return { status: 401, body: { error: 'invalid_client' } };
      issued.push(`access-token-${issued.length + 1}`);
      return { body: { access_token: issued.at(-1), token_type: 'Bearer', expires_in: tokens.life } };
    }
    if (headers.authorization !== `Bearer ${issued.at(-1) ?? ''}`) return { status: 401, body: { message: 'expired' } };
    const [from, to] = [Date.parse(query.get('start_date') ?? ''), Date.parse(query.get('end_date') ?? '') + 1];
    if (to - from > 31 * dayMs) return { status: 400, body: { name: 'INVALID_REQUEST', message: 'range too long' } };
    const list = numbersWithin(from, to);
    if (list.length > 100) return { status: 400, body: { name: 'RESULTSET_TOO_LARGE', message: 'too many' } };
    const [page, size] = [Number(query.get('page')), 10];
    const details = list.slice((page - 1) * size, page * size).map((number) => ({
      transaction_info: {
        transaction_id: `T${number}`,
        transaction_event_code: 'T0006',
        transaction_initiation_date: new Date(times[number] ?? 0).toISOString().replace('.000Z', '+0000'),
        transaction_status: 'S',
        transaction_amount: { currency_code: 'USD', value: `${number}.07` },
        fee_amount: { currency_code: 'USD', value: '-0.30' },
      },
    }));
    return { body: { page, total_pages: Math.ceil(list.length / size), transaction_details: details } };
  };

  test('signs in with client credentials, and again once its token is refused; page numbers; windows that are too large', async () => {
    const issued: string[] = [];
    const { url, asked } = await exampleService((one, number) => {
      // Tokens can be withdrawn before they expire.
      if (number === 5) issued.push('withdrawn');
      return answer(one, issued);
    });
    const lake = await temporaryFolder();
    const logged: string[] = [];
    const { summary } = await backfilled('paypal-transactions', {
      ...{ lake, ...january, logged },
      environment: environmentOf(url),
    });
    expect(asked.filter(({ path }) => path === tokens.path)).toHaveLength(2);
    expect(summary.pipelines['paypal-transactions']).toMatchObject({ requests: asked.length - 2 });
    const query =
      'SELECT count(*) AS n, sum(amount) AS amount, sum(fee) AS fee, min(initiated_at)::VARCHAR AS first FROM paypal_transactions';
    expect(await rowOf(lake, query)).toMatchObject({ n: 124n, amount: `${(124 * 123) / 2 + 8}.68`, fee: '-37.20' });
    expect(`${logged.join('\n')}${JSON.stringify(summary)}`).not.toMatch(/secret-of-my-shop|access-token-/);
  });

  test('stays behind the present by its lateness', async () => {
    const issued: string[] = [];
    const { url, asked } = await exampleService((one) => answer(one, issued));
    const clock = runningClock('2025-01-20T12:00:00Z', 200);
    const lake = await temporaryFolder();
    await backfilled('paypal-transactions', {
      lake,
      from: '2025-01-01',
      to: undefined,
      clock,
      environment: environmentOf(url),
    });
    const ends = asked.flatMap(({ query }) => query.get('end_date') ?? []).toSorted();
    expect(ends.at(-1)).toMatch(/^2025-01-20T(08:59|09:0)/);
  });

  test('a wrong secret ends the run without a request of data, and is shown nowhere', async () => {
    const { url, asked } = await exampleService((one) => answer(one, []));
    const logged: string[] = [];
    const environment = { ...environmentOf(url), PAYPAL_CLIENT_SECRET_MY_SHOP: 'another-secret-of-mine' };
    const ended = backfilled('paypal-transactions', { lake: await temporaryFolder(), ...january, logged, environment });
    await expect(ended).rejects.toThrow(
      /expected an access token for the account my-shop from 127\.0\.0\.1:\d+, got status 401 \(invalid_client\)/,
    );
    expect(asked.map(({ path }) => path)).toEqual([tokens.path]);
    expect(logged.join('\n')).not.toContain('another-secret-of-mine');
  });
});

describe('eBay', () => {
  const scope = 'https://api.ebay.com/oauth/api_scope/sell.finances';
  const environmentOf = (url: string) => ({
    EBAY_URL: url,
    EBAY_TOKEN_URL: `${url}/identity/v1/oauth2/token`,
    EBAY_CLIENT_ID: 'client',
    EBAY_CLIENT_SECRET: 'secret-of-the-application',
    EBAY_REFRESH_TOKEN_MY_SHOP: 'refresh-token-of-my-shop',
  });
  const answer = ({ path, query, headers, body }: Asked): Answered => {
    if (path.endsWith('/token')) {
      const expected = { grant_type: 'refresh_token', refresh_token: 'refresh-token-of-my-shop', scope };
      const isOurs = body === new URLSearchParams(expected).toString();
      return isOurs ? { body: { access_token: 'token-of-my-shop', expires_in: 7200 } } : { status: 400 };
    }
    if (headers.authorization !== 'Bearer token-of-my-shop') return { status: 401 };
    const [, from = '', to = ''] = /^transactionDate:\[(.*)\.\.(.*)\]$/.exec(query.get('filter') ?? '') ?? [];
    // Nothing happened in the second half of the month.
    const list = numbersWithin(Date.parse(from), Date.parse(to) + 1).filter((number) => number < 60);
    if (list.length === 0) return { status: 204 };
    const [offset, limit] = [Number(query.get('offset')), 10];
    const transactions = list.slice(offset, offset + limit).map((number) => ({
      transactionId: `E${number}`,
      transactionType: 'SALE',
      transactionDate: new Date(times[number] ?? 0).toISOString(),
      bookingEntry: 'CREDIT',
      amount: { value: `${number}.5`, currency: 'USD' },
      totalFeeAmount: { value: '0.05', currency: 'USD' },
    }));
    return { body: { offset, limit, total: list.length, transactions } };
  };

  test('signs in with a refresh token; offsets; windows that are empty by their status are loaded', async () => {
    const { url, asked } = await exampleService(answer);
    const lake = await temporaryFolder();
    const environment = environmentOf(url);
    const { summary } = await backfilled('ebay-transactions', { lake, ...january, environment });
    expect(asked.filter(({ path }) => path.endsWith('/token'))).toHaveLength(1);
    const { requests, pages, retries } = summary.pipelines['ebay-transactions'] ?? {};
    expect([requests, pages, retries]).toEqual([asked.length - 1, asked.length - 1, 0]);
    expect(new Set(asked.slice(1).map(({ headers }) => headers['x-ebay-c-marketplace-id']))).toEqual(
      new Set(['EBAY_US']),
    );
    const query = 'SELECT count(*) AS n, sum(amount) AS amount, sum(fees) AS fees FROM ebay_transactions';
    expect(await rowOf(lake, query)).toEqual({ n: 60n, amount: `${(60 * 59) / 2 + 30}.00`, fees: '3.00' });
    const again = await backfilled('ebay-transactions', { lake, ...january, environment });
    expect(again.summary.pipelines['ebay-transactions']?.['requests']).toBe(0);
  });
});
