import { inputLists } from './input-lists.js';
import {
  recordOf,
  records,
  type RecordAmount,
  type EventRecord,
} from '../../src/sources/finances/api-v0/event-records.js';

/** A shape for DuckDB's `from_json`, or for a column of `read_json`. */
export interface Shape {
  readonly [field: string]: string | Shape | readonly Shape[];
}
type Draft = Record<string, unknown>;

const money: Shape = { CurrencyCode: 'VARCHAR', CurrencyAmount: 'DECIMAL(18,6)' };
const itemFields = {
  SellerSKU: 'VARCHAR',
  SKU: 'VARCHAR',
  FnSKU: 'VARCHAR',
  ASIN: 'VARCHAR',
  OrderItemId: 'VARCHAR',
  OrderAdjustmentItemId: 'VARCHAR',
  QuantityShipped: 'BIGINT',
  Quantity: 'BIGINT',
};
const placeFields = { MarketplaceName: 'VARCHAR', StoreName: 'VARCHAR', SellerOrderId: 'VARCHAR' };

/** Lists of events by the record that they hold. */
export function listsByRecord(): Map<EventRecord, string[]> {
  const lists = new Map<EventRecord, string[]>();
  for (const record of Object.values(records)) {
    const named = inputLists.filter((list) => recordOf(list) === record);
    if (named.length > 0) lists.set(record, named);
  }
  return lists;
}

/** What of a record the tables need. */
export function shapeOf(record: EventRecord): Shape {
  const shape: Draft = { ...placeFields };
  if (record.date !== undefined) shape[record.date] = 'TIMESTAMPTZ';
  for (const field of record.orderIds) shape[field] = 'VARCHAR';
  for (const { path } of record.amounts) {
    let at = shape;
    const steps = path.split('.');
    steps.forEach((step, index) => {
      const isLast = index === steps.length - 1;
      const name = step.replace('[]', '');
      if (isLast) {
        at[name] = money;
        const type = typeField(name);
        if (type !== undefined && steps.length > 1) at[type] = 'VARCHAR';
        return;
      }
      if (step.endsWith('[]')) {
        const [element] = (at[name] ??= [index === 0 ? { ...itemFields } : {}]) as Draft[];
        at = element ?? {};
      } else {
        at = (at[name] ??= {}) as Draft;
      }
    });
  }
  return shape as Shape;
}

/** The same as a type in SQL. */
export function typeOf(shape: Shape): string {
  const fields = Object.entries(shape).map(([name, of]) => {
    const type = typeof of === 'string' ? of : Array.isArray(of) ? `${typeOf(of[0] as Shape)}[]` : typeOf(of as Shape);
    return `"${name}" ${type}`;
  });
  return `STRUCT(${fields.join(', ')})`;
}

function typeField(amount: string): string | undefined {
  return /^(Charge|Fee|Promotion|DirectPayment)Amount$/.test(amount) ? amount.replace('Amount', 'Type') : undefined;
}

/** What a row of either table takes of its event, where the record is parsed as `s`. */
export function attributes(record: EventRecord): string {
  const order = record.orderIds.find((field) => field !== 'SellerOrderId' && field !== 'MerchantOrderId');
  return [
    `${record.date === undefined ? 'NULL::TIMESTAMPTZ' : `s."${record.date}"`} AS posted_at`,
    `${order === undefined ? 'NULL' : `s."${order}"`}::VARCHAR AS amazon_order_id`,
    `${record.orderIds.includes('MerchantOrderId') ? 's."MerchantOrderId"' : 's."SellerOrderId"'} AS seller_order_id`,
    's."MarketplaceName" AS marketplace',
    's."StoreName" AS store',
  ].join(', ');
}

/**
 * Every amount of the events in `parsed` (`event_id`, `event_list`, `s`), which hold one record: a branch for each path,
 * with the elements of the outermost array taken apart once. `name` begins the names of what it needs to say first.
 */
export function entrySelects(record: EventRecord, parsed: string, name: string): { ctes: string[]; selects: string[] } {
  const ctes: string[] = [];
  const keep =
    'event_id, event_list, posted_at, coalesce(posted_at, window_start) AS effective_at, amazon_order_id, marketplace';
  ctes.push(`${name}_p AS (SELECT *, ${attributes(record)} FROM ${parsed})`);
  const items = new Map<string, string>();
  const selects = record.amounts.map((amount) => {
    const steps = amount.path.split('.');
    const first = steps[0] ?? '';
    if (!first.endsWith('[]')) {
      const value = `s.${steps.map((step) => `"${step}"`).join('.')}`;
      const holder = steps.length > 1 ? `s."${first}"` : undefined;
      return select(
        amount,
        `SELECT ${keep}, NULL::INTEGER AS item, ${noItem}, ${nameOf(amount, holder)}, ${value} AS m FROM ${name}_p`,
      );
    }
    let from = items.get(first);
    if (from === undefined) {
      from = `${name}_i${items.size}`;
      items.set(first, from);
      const array = `s."${first.slice(0, -2)}"`;
      ctes.push(
        `${from} AS (SELECT ${keep.replace('coalesce(posted_at, window_start) AS effective_at', 'effective_at')}, item, ` +
          'coalesce(e."SellerSKU", e."SKU") AS sku, e."FnSKU" AS fnsku, e."ASIN" AS asin, ' +
          'coalesce(e."OrderItemId", e."OrderAdjustmentItemId") AS order_item_id, ' +
          'coalesce(e."QuantityShipped", e."Quantity") AS quantity, e ' +
          `FROM (SELECT ${keep}, unnest(${array}) AS e, unnest(range(len(${array})))::INTEGER AS item FROM ${name}_p))`,
      );
    }
    let query = `SELECT ${itemKeep}, e FROM ${from}`;
    for (const step of steps.slice(1, -1)) {
      query = `SELECT ${itemKeep}, unnest(e."${step.slice(0, -2)}") AS e FROM (${query})`;
    }
    const last = steps.at(-1) ?? '';
    return select(amount, `SELECT ${itemKeep}, ${nameOf(amount, 'e')}, e."${last}" AS m FROM (${query})`);
  });
  return { ctes, selects };
}

const noItem =
  'NULL::VARCHAR AS sku, NULL::VARCHAR AS fnsku, NULL::VARCHAR AS asin, NULL::VARCHAR AS order_item_id, ' +
  'NULL::BIGINT AS quantity';
const itemKeep =
  'event_id, event_list, posted_at, effective_at, amazon_order_id, marketplace, item, sku, fnsku, asin, order_item_id, quantity';

function nameOf({ path }: RecordAmount, holder: string | undefined): string {
  const type = typeField(path.split('.').at(-1) ?? '');
  return `${type === undefined || holder === undefined ? 'NULL::VARCHAR' : `${holder}."${type}"`} AS name`;
}

function select({ path, kind, role }: RecordAmount, query: string): string {
  return (
    `SELECT ${itemKeep}, '${path}' AS path, '${kind}' AS kind, name, '${role}' AS role, ` +
    `m."CurrencyAmount" AS amount, m."CurrencyCode" AS currency FROM (${query}) WHERE m IS NOT NULL`
  );
}
