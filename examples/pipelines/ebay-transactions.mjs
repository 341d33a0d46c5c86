// Transactions of eBay's Finances API: sign-in with a seller's refresh token, offsets, status 204 if there is nothing.

function request({ from, to, pageSize }, offset) {
  // Both ends are included.
  const until = new Date(to.getTime() - 1).toISOString();
  return {
    path: '/sell/finances/v1/transaction',
    query: { filter: [`transactionDate:[${from.toISOString()}..${until}]`], limit: pageSize, offset },
    headers: { 'x-ebay-c-marketplace-id': 'EBAY_US' },
  };
}

/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: 'ebay-transactions',
  about: 'sales, refunds and fees of an eBay seller in the range',

  api: {
    address: { env: 'EBAY_URL' },
    signIn: {
      tokenEndpoint: { env: 'EBAY_TOKEN_URL' },
      clientId: { env: 'EBAY_CLIENT_ID' },
      clientSecret: { env: 'EBAY_CLIENT_SECRET' },
      refreshToken: { env: 'EBAY_REFRESH_TOKEN', perAccount: true },
      scope: 'https://api.ebay.com/oauth/api_scope/sell.finances',
    },
    quota: { rate: 5, burst: 5 },
    pageSize: 1000,
    messageOf: (body) => body.at('errors')?.list()[0]?.at('message')?.text,
  },

  windows: { days: 7, guessPerDay: 50 },

  first: (window) => request(window, 0),
  next: ({ body, window }) => {
    const next = Number(body.at('offset')?.text) + body.list('transactions').length;
    return next < Number(body.at('total')?.text) ? request(window, next) : undefined;
  },

  records: ({ body }) => body.list('transactions'),
  rows: (transaction) => ({
    transaction_id: transaction.at('transactionId'),
    type: transaction.at('transactionType'),
    transacted_at: transaction.at('transactionDate'),
    order_id: transaction.at('orderId'),
    payout_id: transaction.at('payoutId'),
    entry: transaction.at('bookingEntry'),
    amount: transaction.at('amount', 'value'),
    fees: transaction.at('totalFeeAmount', 'value'),
    currency: transaction.at('amount', 'currency'),
  }),

  table: {
    name: 'ebay_transactions',
    about: 'One row per monetary transaction.',
    columns: {
      transaction_id: { type: 'varchar' },
      type: { type: 'varchar', about: 'SALE, REFUND, SHIPPING_LABEL …' },
      transacted_at: { type: 'timestamp' },
      order_id: { type: 'varchar' },
      payout_id: { type: 'varchar' },
      entry: { type: 'varchar', about: 'CREDIT or DEBIT: the amount has no sign.' },
      amount: { type: 'decimal(18,2)' },
      fees: { type: 'decimal(18,2)', about: 'What eBay keeps of it.' },
      currency: { type: 'varchar', about: 'ISO 4217 code of `amount`.' },
    },
    sort: ['transacted_at', 'transaction_id'],
  },
};
