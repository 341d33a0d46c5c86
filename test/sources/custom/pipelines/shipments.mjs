/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: 'shipments',
  about: 'shipments that left the warehouse in the range',

  api: {
    address: { env: 'PARCELS_URL' },
    headers: { authorization: { env: 'PARCELS_TOKEN', before: 'Bearer ' } },
    quota: { rate: 2, burst: 10, rateHeader: 'x-requests-per-second' },
    pageSize: 50,
    causeOf: ({ body }) => (body?.at('error', 'kind')?.text === 'STALE_CURSOR' ? 'cursor-expired' : undefined),
    messageOf: (body) => body.at('error', 'text')?.text,
  },

  windows: { days: 7, guessPerDay: 20 },

  first: ({ from, to, pageSize }) => ({
    path: '/v2/shipments',
    query: { shipped_from: from.toISOString(), shipped_to: to.toISOString(), limit: pageSize },
  }),
  next: ({ body }) => {
    const cursor = body.at('next_cursor')?.text;
    return cursor === undefined ? undefined : { path: '/v2/shipments', query: { cursor } };
  },

  records: ({ body }) => body.list('shipments'),
  rows: (shipment) => ({
    shipment_id: shipment.at('id'),
    shipped_at: shipment.at('shipped_at'),
    carrier: shipment.at('carrier', 'name'),
    tracking_number: shipment.at('tracking_number'),
    parcels: shipment.at('parcels')?.list().length,
    weight_kg: shipment.at('weight_kg'),
    cost: shipment.at('cost', 'amount'),
    currency: shipment.at('cost', 'currency'),
    is_insured: shipment.at('insured'),
    promised_on: shipment.at('promised_on'),
  }),

  table: {
    name: 'shipments',
    about: 'One row per shipment.',
    columns: {
      shipment_id: { type: 'varchar', about: 'Number of the shipment.' },
      shipped_at: { type: 'timestamp', about: 'When it left the warehouse.' },
      carrier: { type: 'varchar' },
      tracking_number: { type: 'bigint' },
      parcels: { type: 'integer', about: 'How many boxes it is.' },
      weight_kg: { type: 'decimal(9,3)' },
      cost: { type: 'decimal(12,2)', about: 'What the carrier charges, exact.' },
      currency: { type: 'varchar', about: 'ISO 4217 code of `cost`.' },
      is_insured: { type: 'boolean' },
      promised_on: { type: 'date', about: 'The day promised to the buyer.' },
    },
    sort: ['shipped_at', 'shipment_id'],
  },
};
