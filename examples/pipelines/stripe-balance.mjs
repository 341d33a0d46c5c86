// Balance transactions of Stripe. It shows a cursor that is the last id, instants in epoch seconds, and amounts in
// minor units.

/** Currencies without decimals, and those with three; Stripe counts all others in hundredths. */
const whole = ['bif', 'clp', 'djf', 'gnf', 'jpy', 'kmf', 'krw', 'mga', 'pyg', 'rwf', 'vnd', 'vuv', 'xaf', 'xof', 'xpf'];
const thousandths = ['bhd', 'jod', 'kwd', 'omr', 'tnd'];

/**
 * An amount in minor units as major units: `1234` in eur is `1234e-2`, which a decimal column reads as 12.34, exactly.
 */
function majorUnits(minor, currency) {
  if (minor?.text === undefined) return undefined;
  const digits = whole.includes(currency) ? 0 : thousandths.includes(currency) ? 3 : 2;
  return `${minor.text}e-${digits}`;
}

/** The instant of seconds since 1970. */
function instant(seconds) {
  return seconds?.text === undefined ? undefined : new Date(Number(seconds.text) * 1000);
}

function request({ from, to, pageSize }, after) {
  return {
    path: '/v1/balance_transactions',
    query: {
      'created[gte]': from.getTime() / 1000,
      'created[lt]': to.getTime() / 1000,
      limit: pageSize,
      starting_after: after,
      'expand[]': ['data.source'],
    },
    headers: { 'stripe-version': '2024-06-20' },
  };
}

/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: 'stripe-balance',
  about: 'balance transactions of a Stripe account in the range',

  api: {
    address: { env: 'STRIPE_URL' },
    headers: { authorization: { env: 'STRIPE_KEY', perAccount: true, before: 'Bearer ' } },
    quota: { rate: 20, burst: 20 },
    pageSize: 100,
    messageOf: (body) => body.at('error', 'message')?.text,
  },

  windows: { days: 7, guessPerDay: 100 },

  first: (window) => request(window),
  next: ({ body, window }) =>
    body.at('has_more')?.text === 'true' ? request(window, body.list('data').at(-1)?.at('id')?.text) : undefined,

  records: ({ body }) => body.list('data'),
  rows: (transaction) => {
    const currency = transaction.at('currency')?.text;
    return {
      transaction_id: transaction.at('id'),
      created_at: instant(transaction.at('created')),
      available_at: instant(transaction.at('available_on')),
      type: transaction.at('type'),
      source_id: transaction.at('source', 'id'),
      currency: currency?.toUpperCase(),
      amount: majorUnits(transaction.at('amount'), currency),
      fee: majorUnits(transaction.at('fee'), currency),
      net: majorUnits(transaction.at('net'), currency),
    };
  },

  table: {
    name: 'stripe_balance',
    about: 'One row per balance transaction.',
    columns: {
      transaction_id: { type: 'varchar' },
      created_at: { type: 'timestamp', about: 'When it changed the balance.' },
      available_at: { type: 'timestamp', about: 'When the money can be paid out.' },
      type: { type: 'varchar', about: 'charge, refund, payout …' },
      source_id: { type: 'varchar', about: 'Charge, refund or payout that caused it.' },
      currency: { type: 'varchar', about: 'ISO 4217 code of the amounts.' },
      amount: { type: 'decimal(18,3)', about: 'Gross, in major units, exact.' },
      fee: { type: 'decimal(18,3)' },
      net: { type: 'decimal(18,3)' },
    },
    sort: ['created_at', 'transaction_id'],
  },
};
