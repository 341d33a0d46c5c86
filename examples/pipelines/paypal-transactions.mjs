// Transactions of PayPal. It shows sign-in with client credentials, windows of at most 31 days, page numbers, and data
// that arrives up to three hours late.

function request({ from, to, pageSize }, page) {
  return {
    path: '/v1/reporting/transactions',
    query: {
      start_date: from.toISOString(),
      // This bound is inclusive.
      end_date: new Date(to.getTime() - 1).toISOString(),
      fields: 'transaction_info',
      page_size: pageSize,
      page,
    },
  };
}

/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: 'paypal-transactions',
  about: 'transactions of a PayPal account in the range',

  api: {
    address: { env: 'PAYPAL_URL' },
    signIn: {
      tokenEndpoint: { env: 'PAYPAL_TOKEN_URL' },
      clientId: { env: 'PAYPAL_CLIENT_ID', perAccount: true },
      clientSecret: { env: 'PAYPAL_CLIENT_SECRET', perAccount: true },
    },
    quota: { rate: 1, burst: 5 },
    pageSize: 500,
    causeOf: ({ body }) => (body?.at('name')?.text === 'RESULTSET_TOO_LARGE' ? 'too-large' : undefined),
    messageOf: (body) => body.at('message')?.text,
  },

  windows: { days: 7, guessPerDay: 100, longestDays: 31, latenessMinutes: 180 },

  first: (window) => request(window, 1),
  next: ({ body, window }) => {
    const page = Number(body.at('page')?.text);
    return page < Number(body.at('total_pages')?.text) ? request(window, page + 1) : undefined;
  },

  records: ({ body }) => body.list('transaction_details'),
  rows: (transaction) => {
    const info = transaction.at('transaction_info');
    return {
      transaction_id: info?.at('transaction_id'),
      event_code: info?.at('transaction_event_code'),
      initiated_at: info?.at('transaction_initiation_date'),
      updated_at: info?.at('transaction_updated_date'),
      status: info?.at('transaction_status'),
      amount: info?.at('transaction_amount', 'value'),
      fee: info?.at('fee_amount', 'value'),
      currency: info?.at('transaction_amount', 'currency_code'),
    };
  },

  table: {
    name: 'paypal_transactions',
    about: 'One row per transaction. An id can appear twice: once with and once without an effect on the balance.',
    columns: {
      transaction_id: { type: 'varchar' },
      event_code: { type: 'varchar', about: 'Type of transaction, such as T0006.' },
      initiated_at: { type: 'timestamp' },
      updated_at: { type: 'timestamp' },
      status: { type: 'varchar', about: 'D denied, P pending, S done, V reversed.' },
      amount: { type: 'decimal(18,2)', about: 'Gross, in major units.' },
      fee: { type: 'decimal(18,2)' },
      currency: { type: 'varchar', about: 'ISO 4217 code of `amount`.' },
    },
    sort: ['initiated_at', 'transaction_id'],
  },
};
