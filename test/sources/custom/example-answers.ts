import { dayMs } from '../../../src/core/windows.js';
import type { Answered, Asked } from './example-server.js';

// What the APIs of examples/pipelines answer, as far as the definitions ask.

export const january = { from: '2025-01-01', to: '2025-02-01' };

/** Instants of a list, one every six hours of January. */
export const times = Array.from({ length: 124 }, (_, number) => Date.UTC(2025, 0, 1, 6 * number));

/** Numbers of the times from one instant to another, which is not included. */
function numbersWithin(from: number, to: number): number[] {
  return times.flatMap((time, number) => (time >= from && time < to ? [number] : []));
}

export const stripeAnswer = ({ query, headers }: Asked): Answered => {
  if (headers.authorization !== 'Bearer sk_of_my_shop') return { status: 401, body: { error: { message: 'bad key' } } };
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

interface Posted {
  readonly query: string;
  readonly variables: { readonly first: number; readonly after: string | null; readonly filter: string };
}

export const shopifyAnswer = ({ method, body }: Asked): Answered => {
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

export const shopifyEnvironment = (url: string) => ({
  SHOPIFY_URL_MY_SHOP: url,
  SHOPIFY_TOKEN_MY_SHOP: 'shpat_of_my_shop',
});

/** Where PayPal's tokens come from. */
export const paypalTokens = { path: '/v1/oauth2/token' };
export const paypalEnvironment = (url: string) => ({
  PAYPAL_URL: url,
  PAYPAL_TOKEN_URL: url + paypalTokens.path,
  PAYPAL_CLIENT_ID_MY_SHOP: 'client-of-my-shop',
  PAYPAL_CLIENT_SECRET_MY_SHOP: 'secret-of-my-shop',
});

/** `issued`: access tokens, of which the last one is valid; `life`: how many seconds each lives. */
export const paypalAnswer = ({ path, query, headers, body }: Asked, issued: string[], life = 32_400): Answered => {
  if (path === paypalTokens.path) {
    const login = Buffer.from('client-of-my-shop:secret-of-my-shop').toString('base64');
    const isOurs = headers.authorization === `Basic ${login}` && body === 'grant_type=client_credentials';
    if (!isOurs) return { status: 401, body: { error: 'invalid_client' } };
    issued.push(`access-token-${issued.length + 1}`);
    return { body: { access_token: issued.at(-1), token_type: 'Bearer', expires_in: life } };
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

const ebayScope = 'https://api.ebay.com/oauth/api_scope/sell.finances';
export const ebayEnvironment = (url: string) => ({
  EBAY_URL: url,
  EBAY_TOKEN_URL: `${url}/identity/v1/oauth2/token`,
  EBAY_CLIENT_ID: 'client',
  EBAY_CLIENT_SECRET: 'secret-of-the-application',
  EBAY_REFRESH_TOKEN_MY_SHOP: 'refresh-token-of-my-shop',
});

/** `issued` and `life`: as PayPal's. */
export const ebayAnswer = ({ path, query, headers, body }: Asked, issued: string[], life = 7200): Answered => {
  if (path.endsWith('/token')) {
    const expected = { grant_type: 'refresh_token', refresh_token: 'refresh-token-of-my-shop', scope: ebayScope };
    const isOurs = body === new URLSearchParams(expected).toString();
    if (!isOurs) return { status: 400 };
    issued.push(`token-of-my-shop-${issued.length + 1}`);
    return { body: { access_token: issued.at(-1), expires_in: life } };
  }
  if (headers.authorization !== `Bearer ${issued.at(-1) ?? ''}`) return { status: 401 };
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
