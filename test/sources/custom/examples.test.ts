import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { exampleLoaded, rowOf } from './custom-run.js';
import {
  ebayAnswer,
  ebayEnvironment,
  january,
  paypalAnswer,
  paypalEnvironment,
  paypalTokens,
  shopifyAnswer,
  shopifyEnvironment,
  stripeAnswer,
  times,
} from './example-answers.js';
import { exampleServer } from './example-server.js';

describe('Stripe', () => {
  test('a cursor that is an id, epochs, minor units exactly, a list of values, headers of a request, a key of the account', async () => {
    const { url, asked } = await exampleServer(stripeAnswer);
    const lake = await temporaryFolder();
    const environment = { STRIPE_URL: url, STRIPE_KEY_MY_SHOP: 'sk_of_my_shop' };
    const { summary } = await exampleLoaded('stripe-balance', { lake, ...january, environment });
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
      jpy: `${jpy}.000`,
      days: true,
      adds_up: true,
      source: 'ch_0',
    });
    expect(asked.every(({ query }) => query.get('expand[]') === 'data.source')).toBe(true);
    expect(new Set(asked.map(({ headers }) => headers['stripe-version']))).toEqual(new Set(['2024-06-20']));
  });

  test('the key of another account is never sent', async () => {
    const { url, asked } = await exampleServer(stripeAnswer);
    const environment = { STRIPE_URL: url, STRIPE_KEY: 'sk_of_nobody', STRIPE_KEY_OTHER_SHOP: 'sk_of_another' };
    await expect(
      exampleLoaded('stripe-balance', { lake: await temporaryFolder(), ...january, environment }),
    ).rejects.toThrow(/expected the environment variable STRIPE_KEY_MY_SHOP, got none/);
    expect(asked).toEqual([]);
  });
});

describe('Shopify', () => {
  const refused = (code: string) => ({ errors: [{ message: `it is ${code}`, extensions: { code } }] });

  test('posted queries, a cursor in the body, throttled with status 200', async () => {
    const { url, asked } = await exampleServer((one, number) =>
      number === 2 ? { body: refused('THROTTLED') } : shopifyAnswer(one),
    );
    const lake = await temporaryFolder();
    const { summary } = await exampleLoaded('shopify-orders', {
      lake,
      ...january,
      environment: shopifyEnvironment(url),
    });
    expect(summary.pipelines['shopify-orders']).toMatchObject({ requests: asked.length, retries: 1, throttled: 1 });
    const query = 'SELECT count(*) AS n, count(DISTINCT order_id) AS ids, sum(total) AS total FROM shopify_orders';
    expect(await rowOf(lake, query)).toEqual({ n: 124n, ids: 124n, total: `${(124 * 123) / 2 + 12}.40` });
    const items =
      'SELECT count(*) AS n, sum(quantity) AS pieces, sum(i.total) AS total, count(DISTINCT o.order_id) AS orders ' +
      'FROM shopify_order_items AS i JOIN shopify_orders AS o USING (order_id, window_start)';
    const [ones, twos] = [1, 2].map((rest) => times.filter((_, number) => number % 3 === rest).length);
    const lines = (ones ?? 0) + 2 * (twos ?? 0);
    expect(await rowOf(lake, items)).toMatchObject({
      n: BigInt(lines),
      pieces: BigInt((ones ?? 0) + 3 * (twos ?? 0)),
      orders: BigInt((ones ?? 0) + (twos ?? 0)),
    });
    expect(new Set(asked.map(({ headers }) => headers['content-type']))).toEqual(new Set(['application/json']));
    expect(new Set(asked.map(({ headers }) => headers['x-shopify-access-token']))).toEqual(
      new Set(['shpat_of_my_shop']),
    );
  });

  test('a page of errors ends the run with what it says', async () => {
    const { url, asked } = await exampleServer(() => ({ body: refused('ACCESS_DENIED') }));
    const environment = shopifyEnvironment(url);
    await expect(
      exampleLoaded('shopify-orders', { lake: await temporaryFolder(), ...january, environment }),
    ).rejects.toThrow(/shopify-orders got status 200: it is ACCESS_DENIED/);
    // Windows side by side: none is asked for twice.
    expect(new Set(asked.map(({ body }) => body)).size).toBe(asked.length);
  });
});

describe('PayPal', () => {
  test('signs in with client credentials, and again once its token is refused; page numbers; windows that are too large', async () => {
    const issued: string[] = [];
    const { url, asked } = await exampleServer((one, number) => {
      // Tokens can be withdrawn before they expire.
      if (number === 5) issued.push('withdrawn');
      return paypalAnswer(one, issued);
    });
    const lake = await temporaryFolder();
    const logged: string[] = [];
    const { summary } = await exampleLoaded('paypal-transactions', {
      lake,
      ...january,
      logged,
      environment: paypalEnvironment(url),
    });
    expect(asked.filter(({ path }) => path === paypalTokens.path)).toHaveLength(2);
    expect(summary.pipelines['paypal-transactions']).toMatchObject({ requests: asked.length - 2 });
    const query =
      'SELECT count(*) AS n, sum(amount) AS amount, sum(fee) AS fee, min(initiated_at)::VARCHAR AS first FROM paypal_transactions';
    expect(await rowOf(lake, query)).toMatchObject({ n: 124n, amount: `${(124 * 123) / 2 + 8}.68`, fee: '-37.20' });
    expect(`${logged.join('\n')}${JSON.stringify(summary)}`).not.toMatch(/secret-of-my-shop|access-token-/);
  });

  test('stays behind the present by its lateness', async () => {
    const issued: string[] = [];
    const { url, asked } = await exampleServer((one) => paypalAnswer(one, issued));
    const clock = runningClock('2025-01-20T12:00:00Z', 200);
    const lake = await temporaryFolder();
    await exampleLoaded('paypal-transactions', {
      lake,
      from: '2025-01-01',
      to: undefined,
      clock,
      environment: paypalEnvironment(url),
    });
    const ends = asked.flatMap(({ query }) => query.get('end_date') ?? []).toSorted();
    expect(ends.at(-1)).toMatch(/^2025-01-20T(08:59|09:0)/);
  });

  test('a wrong secret ends the run without a request of data, and is shown nowhere', async () => {
    const { url, asked } = await exampleServer((one) => paypalAnswer(one, []));
    const logged: string[] = [];
    const environment = { ...paypalEnvironment(url), PAYPAL_CLIENT_SECRET_MY_SHOP: 'another-secret-of-mine' };
    const ended = exampleLoaded('paypal-transactions', {
      lake: await temporaryFolder(),
      ...january,
      logged,
      environment,
    });
    await expect(ended).rejects.toThrow(
      /expected an access token for the account my-shop from 127\.0\.0\.1:\d+, got status 401 \(invalid_client\)/,
    );
    expect(asked.map(({ path }) => path)).toEqual([paypalTokens.path]);
    expect(logged.join('\n')).not.toContain('another-secret-of-mine');
  });
});

describe('eBay', () => {
  test('signs in with a refresh token; offsets; windows that are empty by their status are loaded', async () => {
    const issued: string[] = [];
    const { url, asked } = await exampleServer((one) => ebayAnswer(one, issued));
    const lake = await temporaryFolder();
    const environment = ebayEnvironment(url);
    const { summary } = await exampleLoaded('ebay-transactions', { lake, ...january, environment });
    expect(asked.filter(({ path }) => path.endsWith('/token'))).toHaveLength(1);
    const { requests, pages, retries } = summary.pipelines['ebay-transactions'] ?? {};
    expect([requests, pages, retries]).toEqual([asked.length - 1, asked.length - 1, 0]);
    expect(new Set(asked.slice(1).map(({ headers }) => headers['x-ebay-c-marketplace-id']))).toEqual(
      new Set(['EBAY_US']),
    );
    const query = 'SELECT count(*) AS n, sum(amount) AS amount, sum(fees) AS fees FROM ebay_transactions';
    expect(await rowOf(lake, query)).toEqual({ n: 60n, amount: `${(60 * 59) / 2 + 30}.00`, fees: '3.00' });
    const again = await exampleLoaded('ebay-transactions', { lake, ...january, environment });
    expect(again.summary.pipelines['ebay-transactions']?.['requests']).toBe(0);
  });
});
