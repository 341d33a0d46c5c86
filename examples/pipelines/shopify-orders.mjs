// Orders of Shopify's GraphQL API. It shows posted queries, a cursor in the body, errors with status 200, and a shop
// and a token for each account.

const query = `query ($first: Int!, $after: String, $filter: String!) {
  orders(first: $first, after: $after, query: $filter, sortKey: CREATED_AT) {
    pageInfo { hasNextPage endCursor }
    nodes {
      id
      name
      createdAt
      totalPriceSet { shopMoney { amount currencyCode } }
      lineItems(first: 50) {
        nodes { id sku quantity originalTotalSet { shopMoney { amount currencyCode } } }
      }
    }
  }
}`;

function request({ from, to, pageSize }, after = null) {
  const filter = `created_at:>='${from.toISOString()}' created_at:<'${to.toISOString()}'`;
  return {
    path: '/admin/api/2025-01/graphql.json',
    body: { query, variables: { first: pageSize, after, filter } },
  };
}

const causes = { THROTTLED: 'throttled', ACCESS_DENIED: 'denied', INTERNAL_SERVER_ERROR: 'fault' };

/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: 'shopify-orders',
  about: 'orders that were placed in a Shopify shop in the range',

  api: {
    address: { env: 'SHOPIFY_URL', perAccount: true },
    headers: { 'x-shopify-access-token': { env: 'SHOPIFY_TOKEN', perAccount: true } },
    quota: { rate: 2, burst: 10 },
    pageSize: 50,
    causeOfPage: (body) => {
      const [error] = body.at('errors')?.list() ?? [];
      return error && (causes[error.at('extensions', 'code')?.text] ?? 'mistake');
    },
    messageOf: (body) => body.at('errors')?.list()[0]?.at('message')?.text,
  },

  windows: { days: 7, guessPerDay: 20 },

  first: (window) => request(window),
  next: ({ body, window }) => {
    const page = body.at('data', 'orders', 'pageInfo');
    return page?.at('hasNextPage')?.text === 'true' ? request(window, page.at('endCursor')?.text) : undefined;
  },

  records: ({ body }) => body.list('data', 'orders', 'nodes'),
  rows: (order) => ({
    order_id: order.at('id'),
    order_name: order.at('name'),
    created_at: order.at('createdAt'),
    total: order.at('totalPriceSet', 'shopMoney', 'amount'),
    currency: order.at('totalPriceSet', 'shopMoney', 'currencyCode'),
  }),

  table: {
    name: 'shopify_orders',
    about: 'One row per order.',
    columns: {
      order_id: { type: 'varchar' },
      order_name: { type: 'varchar', about: 'Order name in the shop, such as #1001.' },
      created_at: { type: 'timestamp' },
      total: { type: 'decimal(18,2)', about: 'Total price in the currency of the shop.' },
      currency: { type: 'varchar', about: 'ISO 4217 code of `total`.' },
    },
    sort: ['created_at', 'order_id'],
  },

  lines: {
    rows: (order) =>
      order.list('lineItems', 'nodes').map((item) => ({
        order_id: order.at('id'),
        item_id: item.at('id'),
        sku: item.at('sku'),
        quantity: item.at('quantity'),
        total: item.at('originalTotalSet', 'shopMoney', 'amount'),
        currency: item.at('originalTotalSet', 'shopMoney', 'currencyCode'),
      })),
    table: {
      name: 'shopify_order_items',
      about: 'One row per item of an order, at most 50 items for each.',
      columns: {
        order_id: { type: 'varchar', about: 'The order, as in shopify_orders.' },
        item_id: { type: 'varchar' },
        sku: { type: 'varchar' },
        quantity: { type: 'integer' },
        total: { type: 'decimal(18,2)', about: 'Total for the quantity, before discounts.' },
        currency: { type: 'varchar', about: 'ISO 4217 code of `total`.' },
      },
      sort: ['order_id', 'item_id'],
    },
  },
};
