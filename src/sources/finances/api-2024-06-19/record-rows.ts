import type { Json, Row } from '../../records/record.js';

/** A payout as a row of `payouts` (Transfers 2024-06-01, `Payout`). */
export function payoutRow(payout: Json): Row {
  return {
    payout_id: payout.at('id'),
    status: payout.at('currentStatus'),
    payout_type: payout.at('type'),
    ...amountOf(payout, 'amount', 'amount'),
    ...partnerOf(payout),
    settlement_id: relatedIdentifier(payout, 'SETTLEMENT_ID'),
    account_tail: payout.at('accountTail'),
    payment_method: payout.at('paymentMethod'),
    payment_rail: payout.at('paymentRail'),
    trace_id: payout.at('traceId'),
    created_at: payout.at('creationDate'),
    period_start: payout.at('period', 'startDate'),
    period_end: payout.at('period', 'endDate'),
  };
}

/** The key of a payout, to detect repeated pages; undefined without a valid id. */
export function payoutKey(payout: Json): string | undefined {
  return identifier(payout.at('id'));
}

/** A summary of a settlement as a row of `settlement_summaries` (Finances 2024-06-19, `Summary`). */
export function summaryRow(settlement: string, summary: Json): Row {
  return {
    settlement_id: settlement,
    ...partnerOf(summary),
    period_start: summary.at('periodStart'),
    period_end: summary.at('periodEnd'),
    ...amountOf(summary, 'netProceeds', 'net_proceeds'),
  };
}

/** The key of a settlement's summary, to detect repeated pages: account, currency and period; undefined without a period. */
export function summaryKey(summary: Json): string | undefined {
  const start = identifier(summary.at('periodStart'));
  if (start === undefined) return undefined;
  const fields = [['partnerMetadata'], ['netProceeds', 'currencyCode']];
  return [start, ...fields.map((field) => summary.at(...field)?.raw)].join(' ');
}

/** A text that identifies a record; undefined for a missing or malformed value, which different records may share. */
function identifier(value: Json | undefined): string | undefined {
  return value?.kind === 'string' && value.text !== '' ? value.text : undefined;
}

function amountOf(record: Json, field: string, column: string): Row {
  return { [column]: record.at(field, 'currencyAmount'), currency: record.at(field, 'currencyCode') };
}

function partnerOf(record: Json): Row {
  return {
    account_type: record.at('partnerMetadata', 'accountType'),
    marketplace_id: record.at('partnerMetadata', 'marketplaceId'),
  };
}

function relatedIdentifier(record: Json, name: string): Json | undefined {
  const identifiers = record.at('relatedIdentifiers');
  if (identifiers?.kind !== 'array') return undefined;
  return identifiers
    .list()
    .find((each) => each.at('relatedIdentifierName')?.text === name)
    ?.at('relatedIdentifierValue');
}
