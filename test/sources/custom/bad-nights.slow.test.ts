import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../app/lake-run.js';
import { verified } from '../../app/verify/verified.js';
import { childRun } from '../../engine/run/child-run.js';
import { exampleLoaded, ownClock, rowOf } from './custom-run.js';
import {
  ebayAnswer,
  ebayEnvironment,
  january,
  paypalAnswer,
  paypalEnvironment,
  shopifyAnswer,
  shopifyEnvironment,
  stripeAnswer,
} from './example-answers.js';
import { exampleServer, type Answered, type Asked } from './example-server.js';

interface Api {
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  /** `life`: seconds of an access token. */
  readonly answer: (asked: Asked, issued: string[], life?: number) => Answered;
  /** Whether a token is asked for. */
  readonly signsIn: boolean;
  /** What the lake holds of January. */
  readonly query: string;
  readonly held: Readonly<Record<string, unknown>>;
}

const apis: Readonly<Record<string, Api>> = {
  'stripe-balance': {
    environment: (url) => ({ STRIPE_URL: url, STRIPE_KEY_MY_SHOP: 'sk_of_my_shop' }),
    answer: stripeAnswer,
    signsIn: false,
    query: 'SELECT count(*) AS n, count(DISTINCT transaction_id) AS ids, sum(fee) AS sum FROM stripe_balance',
    // 31 of the 124 are in yen, which has no cents.
    held: { n: 124n, ids: 124n, sum: '1883.870' },
  },
  'shopify-orders': {
    environment: shopifyEnvironment,
    answer: shopifyAnswer,
    signsIn: false,
    query:
      'SELECT count(*) AS n, count(DISTINCT order_id) AS ids, sum(total) AS sum, ' +
      '(SELECT count(*) FROM shopify_order_items) AS lines FROM shopify_orders',
    held: { n: 124n, ids: 124n, sum: '7638.40', lines: 123n },
  },
  'paypal-transactions': {
    environment: paypalEnvironment,
    answer: paypalAnswer,
    signsIn: true,
    query: 'SELECT count(*) AS n, count(DISTINCT transaction_id) AS ids, sum(amount) AS sum FROM paypal_transactions',
    held: { n: 124n, ids: 124n, sum: '7634.68' },
  },
  'ebay-transactions': {
    environment: ebayEnvironment,
    answer: ebayAnswer,
    signsIn: true,
    query: 'SELECT count(*) AS n, count(DISTINCT transaction_id) AS ids, sum(amount) AS sum FROM ebay_transactions',
    held: { n: 60n, ids: 60n, sum: '1800.00' },
  },
};

const isSignIn = ({ path }: Asked): boolean => path.endsWith('/token');

test.each(Object.entries(apis))(
  '%s: faults, throttles, broken connections and tokens that end are survived',
  async (name, api) => {
    const issued: string[] = [];
    let data = 0;
    let signIns = 0;
    const { url } = await exampleServer((asked) => {
      // The first sign-in fails; a token lives for ten minutes, and one is withdrawn before.
      if (isSignIn(asked)) return ++signIns === 1 ? { status: 503 } : api.answer(asked, issued, 600);
      switch (++data) {
        case 2:
          return { status: 500, body: { message: 'it burns' } };
        case 4:
          return { status: 429, body: { message: 'slow down' } };
        case 6:
          return { isBroken: true };
        case 7:
          issued.push('withdrawn');
      }
      return api.answer(asked, issued, 600);
    });
    const lake = await temporaryFolder();
    const logged: string[] = [];
    const { summary } = await exampleLoaded(name, { lake, ...january, logged, environment: api.environment(url) });
    expect(await rowOf(lake, api.query)).toEqual(api.held);
    const { requests, retries = 0, throttled } = summary.pipelines[name] ?? {};
    expect([requests, throttled]).toEqual([data, 1]);
    expect(retries).toBeGreaterThanOrEqual(3);
    if (api.signsIn) expect(signIns).toBeGreaterThanOrEqual(3);
    else expect(signIns).toBe(0);
    expect(await verified({ root: lake, clock: ownClock() })).toMatchObject({ code: 0, verdict: 'whole' });
    expect(`${logged.join('\n')}${JSON.stringify(summary)}`).not.toMatch(
      /secret-of|token-of|access-token-|_of_my_shop/,
    );
  },
);

test.each(Object.entries(apis).filter(([name]) => /^(shopify|ebay)/.test(name)))(
  '%s: a run that is killed is gone on with',
  async (name, api) => {
    const lake = join(await temporaryFolder(), 'lake');
    const commit = join(lake, name.replace('-', '_'), '_delta_log', `${'0'.repeat(20)}.json`);
    const issued: string[] = [];
    let isFirst = true;
    const { url, asked } = await exampleServer((one) => {
      const isEarly = isSignIn(one) || `${one.query.get('filter') ?? ''}${one.body}`.includes('2025-01-01');
      // Of the first run the first window alone is answered: with its commit it dies.
      return isFirst && !isEarly ? new Promise(() => undefined) : api.answer(one, issued);
    });
    const words = ['backfill', name, '--pipelines', 'examples/pipelines', '--account', 'my-shop', '--lake', lake];
    const start = () =>
      childRun([...words, '--from', january.from, '--to', january.to], { environment: api.environment(url) });
    const killed = start();
    const watch = setInterval(() => {
      if (existsSync(commit)) killed.process.kill('SIGKILL');
    }, 10);
    expect((await killed.ended).signal).toBe('SIGKILL');
    clearInterval(watch);
    const answered = asked.filter((one) => !isSignIn(one)).map((one) => `${one.query.toString()} ${one.body}`);
    const early = answered.filter((one) => one.includes('2025-01-01'));
    expect(early.length).toBeGreaterThan(1);

    isFirst = false;
    asked.length = 0;
    const { code, errors } = await start().ended;
    expect(code, errors).toBe(0);
    expect(asked.map((one) => `${one.query.toString()} ${one.body}`).filter((one) => early.includes(one))).toEqual([]);
    expect(await rowOf(lake, api.query)).toEqual(api.held);
    expect(await verified({ root: lake, clock: ownClock() })).toMatchObject({ code: 0, verdict: 'whole' });
  },
);
