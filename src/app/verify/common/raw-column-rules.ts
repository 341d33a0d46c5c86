import { identifier } from '../../../core/duckdb/literals.js';
import { readInstant } from '../../../core/numeric/instant.js';
import { isObject, type Fields } from '../../../lake/delta/actions.js';
import { recordOf } from '../../../sources/finances/api-v0/event-records.js';
import {
  eventMoney,
  fitsDecimal,
  normalised,
  numberOf,
  transactionMoney,
  type MoneyRules,
  type Walked,
} from './money-walk.js';

/** A column whose value follows from `raw`. */
export interface RawColumn {
  readonly name: string;
  /** In SQL: the value as a text, or as an integer. */
  readonly sql: string;
  /** The column with the numbers that an amount's column can't hold. */
  readonly inexact?: string;
  /**
   * The value by what JSON.parse makes of `raw`: a text, microseconds of an instant, the double of an amount; undefined where
   * that can't be said.
   */
  readonly of: (record: unknown, list: string) => string | bigint | number | null | undefined;
}

/** In SQL: the values of columns. */
export function rawColumnsSql(columns: readonly RawColumn[]): readonly string[] {
  return columns.flatMap(({ sql, inexact }) => (inexact === undefined ? sql : [sql, inexact]));
}

/** In SQL: expressions as a JSON array of texts, which DuckDB hands over much sooner than many values. */
export function textsJson(expressions: readonly string[]): string {
  // As text: what is JSON by its type is parsed to be checked.
  return `CAST(to_json([${expressions.map((each) => `CAST(${each} AS VARCHAR)`).join(', ')}]) AS VARCHAR)`;
}

/**
 * Returns what is wrong with the stored values of a row, or undefined.
 *
 * @param stored the values that `rawColumnsSql` names, as texts
 */
export function rawColumnsFault(
  columns: readonly RawColumn[],
  walked: Walked,
  stored: readonly (string | null)[],
  list = '',
): string | undefined {
  const { value } = walked;
  let index = 0;
  for (const { name, inexact, of } of columns) {
    const found = stored[index++] ?? null;
    const text = inexact === undefined ? undefined : (stored[index++] ?? null);
    const expected = of(value, list);
    if (expected === undefined) continue;
    const isRight =
      typeof expected === 'number'
        ? isAmount(expected, found, text, walked)
        : (text ?? null) === null && found === (expected === null ? null : String(expected));
    if (!isRight) return `${name} is ${found ?? text ?? 'null'}, raw has ${String(expected)}`;
  }
  return undefined;
}

/**
 * Whether an amount of `raw`, whose double is known, is stored.
 *
 * @param text undefined where no column has the numbers that don't fit
 */
function isAmount(amount: number, found: string | null, text: string | null | undefined, walked: Walked): boolean {
  if (
    found !== null &&
    text == null &&
    walked.decimals?.some(({ text }) => text === found) === true &&
    Number(found) === amount
  )
    return true;
  const { numbers } = walked;
  if (found !== null && text != null) return false;
  const stored = found ?? text;
  if (stored == null) return text === undefined && (numbers ?? ['1e99']).some((number) => !fitsDecimal(number));
  const isSame = Number(stored) === amount && (numbers === undefined || numbers.includes(normalised(stored)));
  return isSame && (found !== null || !fitsDecimal(stored));
}

/** The value at a path of objects; undefined where there is none. */
function at(record: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => (isObject(found) ? found[name] : undefined), record);
}

function rawText(value: unknown): string | null {
  return typeof value === 'string' ? value.toWellFormed() : null;
}

function first<T>(values: readonly (T | null)[]): T | null {
  return values.find((value) => value !== null) ?? null;
}

function instantOf(value: unknown): bigint | null {
  return typeof value === 'string' ? (readInstant(value) ?? null) : null;
}

/** A column with the first text of several. */
function texts(name: string, ...of: readonly ((record: unknown, list: string) => unknown)[]): RawColumn {
  return { name, sql: identifier(name), of: (record, list) => first(of.map((each) => rawText(each(record, list)))) };
}

const member =
  (...path: readonly string[]) =>
  (record: unknown): unknown =>
    at(record, ...path);

function text(name: string, ...path: readonly string[]): RawColumn {
  return texts(name, member(...path));
}

function instant(name: string, of: (record: unknown, list: string) => readonly unknown[]): RawColumn {
  const sql = `epoch_us(${identifier(name)})`;
  return { name, sql, of: (record, list) => first(of(record, list).map(instantOf)) };
}

function amount(name: string, of: (record: unknown) => unknown, inexact?: string): RawColumn {
  const sql = `${identifier(name)}::VARCHAR`;
  return { name, sql, ...(inexact !== undefined && { inexact }), of: (record) => numberOf(of(record)) };
}

const dates = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];

/** The fields with an event's order, the preferred one first. */
function orderFields(list: string): readonly string[] {
  const own = recordOf(list)?.orderIds.filter((field) => field !== 'SellerOrderId' && field !== 'MerchantOrderId');
  return own === undefined ? ['AmazonOrderId', 'OrderId'] : [...own, 'AmazonOrderId'];
}

/** Of events. */
export const rawEventColumns: readonly RawColumn[] = [
  instant('posted_at', (event, list) => [recordOf(list)?.date ?? '', ...dates].map((name) => at(event, name))),
  texts('amazon_order_id', (event, list) => first(orderFields(list).map((field) => rawText(at(event, field))))),
  texts('seller_order_id', member('SellerOrderId'), member('MerchantOrderId')),
  texts('marketplace', member('MarketplaceName'), member('MarketplaceId')),
  texts('store', member('StoreName'), member('SellerStoreName')),
];

const identifiers = {
  amazon_order_id: 'ORDER_ID',
  shipment_id: 'SHIPMENT_ID',
  group_id: 'FINANCIAL_EVENT_GROUP_ID',
  settlement_id: 'SETTLEMENT_ID',
  refund_id: 'REFUND_ID',
  invoice_id: 'INVOICE_ID',
  disbursement_id: 'DISBURSEMENT_ID',
  transfer_id: 'TRANSFER_ID',
  deferred_transaction_id: 'DEFERRED_TRANSACTION_ID',
  release_transaction_id: 'RELEASE_TRANSACTION_ID',
};

/** Adds the objects of a list: of an array, of arrays in it, or the object that came in its place, which may hold the list. */
function objectsOf(list: unknown, name: string, found: Fields[] = []): readonly Fields[] {
  if (Array.isArray(list)) for (const each of list) objectsOf(each, name, found);
  else if (isObject(list)) {
    found.push(list);
    objectsOf(list[name], name, found);
  }
  return found;
}

function identifierOf(transaction: unknown, name: string): string | null {
  for (const each of objectsOf(at(transaction, 'relatedIdentifiers'), 'relatedIdentifiers')) {
    const value = each['relatedIdentifierName'] === name ? rawText(each['relatedIdentifierValue']) : null;
    if (value !== null && value !== '') return value;
  }
  return null;
}

/** The contexts of deferral of a transaction and of its items, in the order of the text. */
function deferrals(owner: unknown): readonly Fields[] {
  if (Array.isArray(owner)) return owner.flatMap(deferrals);
  if (!isObject(owner)) return [];
  const keys = Object.keys(owner).filter((key) => key === 'items' || key === 'contexts');
  return keys.flatMap((key) =>
    key === 'items'
      ? deferrals(owner[key])
      : objectsOf(owner[key], key).filter((context) => context['contextType'] === 'DeferredContext'),
  );
}

/** The total of a transaction, if it is an amount. */
function totalOf(transaction: unknown): Readonly<Record<string, unknown>> | undefined {
  const total = at(transaction, 'totalAmount');
  return isObject(total) && Object.hasOwn(total, 'currencyCode') && Object.hasOwn(total, 'currencyAmount')
    ? total
    : undefined;
}

/** Of transactions. */
export const rawTransactionColumns: readonly RawColumn[] = [
  text('transaction_id', 'transactionId'),
  text('transaction_type', 'transactionType'),
  texts('status', (transaction) => rawText(at(transaction, 'transactionStatus'))?.toUpperCase()),
  text('description', 'description'),
  instant('posted_at', (transaction) => [at(transaction, 'postedDate')]),
  amount('total_amount', (transaction) => totalOf(transaction)?.['currencyAmount'], 'total_text'),
  texts('currency', (transaction) => totalOf(transaction)?.['currencyCode']),
  text('account_type', 'sellingPartnerMetadata', 'accountType'),
  {
    ...texts('marketplace_id'),
    // Null or not where only the name says it: earlier versions left it out.
    of: (transaction) =>
      first(
        ['marketplaceDetails', 'sellingPartnerMetadata'].map((field) =>
          rawText(at(transaction, field, 'marketplaceId')),
        ),
      ) ?? (rawText(at(transaction, 'marketplaceDetails', 'marketplaceName')) === null ? null : undefined),
  },
  text('marketplace', 'marketplaceDetails', 'marketplaceName'),
  ...Object.entries(identifiers).map(([column, name]) => texts(column, (record) => identifierOf(record, name))),
  texts('deferral_reason', (transaction) =>
    first(deferrals(transaction).map((each) => rawText(each['deferralReason']))),
  ),
  instant('maturity_at', (transaction) => deferrals(transaction).map((each) => each['maturityDate'])),
];

/** How the rows of a table without entries are checked. */
interface RecordRules {
  readonly money: MoneyRules;
  readonly columns: readonly RawColumn[];
}

function moneyColumns(
  { code, amount: number }: MoneyRules,
  field: string,
  column: string,
  currency: string,
): readonly RawColumn[] {
  return [amount(column, member(field, number)), scalar(currency, field, code)];
}

/** A column that keeps a number or a boolean as it is written, which JSON.parse doesn't. */
function scalar(name: string, ...path: readonly string[]): RawColumn {
  const { sql, of } = text(name, ...path);
  const isWritten = (value: unknown) => typeof value === 'number' || typeof value === 'boolean';
  return { name, sql, of: (record, list) => (isWritten(at(record, ...path)) ? undefined : of(record, list)) };
}

const instantAt = (name: string, ...path: readonly string[]) => instant(name, (record) => [at(record, ...path)]);

const partner: readonly RawColumn[] = [
  scalar('account_type', 'partnerMetadata', 'accountType'),
  scalar('marketplace_id', 'partnerMetadata', 'marketplaceId'),
];

export const recordRules: Readonly<Record<string, RecordRules>> = {
  groups: {
    money: eventMoney,
    columns: [
      text('group_id', 'FinancialEventGroupId'),
      text('processing_status', 'ProcessingStatus'),
      text('fund_transfer_status', 'FundTransferStatus'),
      ...moneyColumns(eventMoney, 'OriginalTotal', 'original_total', 'original_currency'),
      ...moneyColumns(eventMoney, 'ConvertedTotal', 'converted_total', 'converted_currency'),
      ...moneyColumns(eventMoney, 'BeginningBalance', 'beginning_balance', 'beginning_currency'),
      instantAt('fund_transfer_at', 'FundTransferDate'),
      instantAt('started_at', 'FinancialEventGroupStart'),
      instantAt('ended_at', 'FinancialEventGroupEnd'),
      text('trace_id', 'TraceId'),
      text('account_tail', 'AccountTail'),
    ],
  },
  payouts: {
    money: transactionMoney,
    columns: [
      scalar('payout_id', 'id'),
      scalar('status', 'currentStatus'),
      scalar('payout_type', 'type'),
      ...moneyColumns(transactionMoney, 'amount', 'amount', 'currency'),
      ...partner,
      scalar('account_tail', 'accountTail'),
      scalar('payment_method', 'paymentMethod'),
      scalar('payment_rail', 'paymentRail'),
      scalar('trace_id', 'traceId'),
      instantAt('created_at', 'creationDate'),
      instantAt('period_start', 'period', 'startDate'),
      instantAt('period_end', 'period', 'endDate'),
    ],
  },
  settlement_summaries: {
    money: transactionMoney,
    columns: [
      ...partner,
      instantAt('period_start', 'periodStart'),
      instantAt('period_end', 'periodEnd'),
      ...moneyColumns(transactionMoney, 'netProceeds', 'net_proceeds', 'currency'),
    ],
  },
};
