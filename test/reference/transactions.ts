import { marketplaceIdOf } from './marketplaces.js';
import { createHash } from 'node:crypto';
import { int64Of, int64OfDigits, millionthsOf, numberOf } from './decimals.js';
import { firstString, wellFormed } from './entries.js';
import { instantOf } from './instants.js';
import { memberOf, parseJsonText, type JsonNode, type JsonObject } from './json-text.js';

/** What one chain of pages answers. */
export interface ReferenceSubject {
  readonly windowStart: bigint | null;
  readonly windowEnd: bigint | null;
  readonly requestedOrderId: string | null;
}

type Row = Record<string, unknown>;

export interface ReferenceTransactions {
  readonly transactions: Row[];
  readonly entries: Row[];
  /** How many transactions count by their total alone. */
  readonly unreconciled: number;
  /** What decided of each transaction. */
  readonly rules: readonly Rule[];
}

/** What counts of a transaction: nothing, what its items break down to, the same of its only and bare item, its own breakdowns, its total. */
export type Rule = 'nothing' | 'items' | 'bare item' | 'shared' | 'breakdowns' | 'total';

/** An amount with all that its columns depend on. */
interface Amount {
  readonly node: JsonObject;
  readonly path: string;
  readonly types: readonly string[];
  readonly index: number | null;
  /** The item that it belongs to. */
  readonly item: JsonObject | undefined;
}

/** A node of the trees that add up: an amount, or undefined where there is none, over others. */
interface Tree {
  readonly amount: JsonObject | undefined;
  readonly children: readonly Tree[];
}

/** What a tree is worth in one currency; null where it can't be said exactly. */
interface Worth {
  readonly value: bigint | null;
  readonly currency: string | null;
}

const columnIdentifiers = {
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

/** Rows of both tables by plain recursion over parsed JSON: slow, and the measure for what is fast. */
export function referenceTransactions(pages: readonly string[], subject: ReferenceSubject): ReferenceTransactions {
  const transactions: Row[] = [];
  const entries: Row[] = [];
  const times = new Map<string, number>();
  const rules: Rule[] = [];
  let unreconciled = 0;
  let position = 0n;
  const isRepeated = repeatsIn(pages);
  for (const page of pages) {
    const list = memberOf(memberOf(parseJsonText(page), 'payload'), 'transactions');
    for (const node of list?.type === 'array' ? list.items : []) {
      const raw = page.slice(node.start, node.end);
      const columns = columnsOf(node);
      const { transaction_type: type, transaction_id: key } = columns;
      const amounts = amountsOf(node);
      const { net, rule, isReconciled } = netOf(node, type === 'Transfer', amounts);
      const isShared = rule === 'shared';
      rules.push(rule);
      if (!isReconciled) unreconciled++;
      const at = position++;
      if (isRepeated(key, at)) continue;
      const hashed = `transactions\0${raw}`;
      const undated = columns['posted_at'] === null && subject.windowStart !== null;
      const id =
        (subject.requestedOrderId === null ? '' : `${subject.requestedOrderId}:`) +
        (undated ? sha(`${hashed}\0${new Date(Number(subject.windowStart) / 1000).toISOString()}`) : sha(hashed));
      const time = (times.get(id) ?? 0) + 1;
      times.set(id, time);
      const row = {
        content_hash: sha(hashed),
        event_id: time === 1 ? id : `${id}-${time}`,
        ...columns,
        effective_at: columns['posted_at'] ?? subject.windowStart,
        window_start: subject.windowStart,
        window_end: subject.windowEnd,
        requested_order_id: subject.requestedOrderId,
        position: at,
        raw,
      };
      transactions.push(row);
      for (const [entry, amount] of amounts.entries()) entries.push(entryOf(node, row, entry, amount, net, isShared));
    }
  }
  return { transactions, entries, unreconciled, rules };
}

/** Of transactions with one id the last one counts; where it is the same as those right before it, the first of these. */
function repeatsIn(pages: readonly string[]): (key: unknown, position: bigint) => boolean {
  const counted = new Map<string, { readonly raw: string; readonly position: bigint }>();
  let position = 0n;
  for (const page of pages) {
    const list = memberOf(memberOf(parseJsonText(page), 'payload'), 'transactions');
    for (const node of list?.type === 'array' ? list.items : []) {
      const raw = page.slice(node.start, node.end);
      const id = firstString(node, ['transactionId']);
      if (id !== null && counted.get(id)?.raw !== raw) counted.set(id, { raw, position });
      position++;
    }
  }
  return (key, at) => typeof key === 'string' && key !== '' && counted.get(key)?.position !== at;
}

function nonEmpty(text: string | null): string | null {
  return text === '' ? null : text;
}

function sha(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function columnsOf(node: JsonNode): Row {
  const total = moneyOf(memberOf(node, 'totalAmount'));
  const identifiers = objectsOf(memberOf(node, 'relatedIdentifiers'), 'relatedIdentifiers');
  const deferrals = contextsOf(node, 'DeferredContext');
  const posted = firstString(node, ['postedDate']);
  const marketplace = memberOf(node, 'marketplaceDetails');
  const seller = memberOf(node, 'sellingPartnerMetadata');
  return {
    transaction_id: firstString(node, ['transactionId']),
    transaction_type: firstString(node, ['transactionType']),
    status: firstString(node, ['transactionStatus'])?.toUpperCase() ?? null,
    description: firstString(node, ['description']),
    posted_at: posted === null ? null : instantOf(posted),
    total_amount: total === undefined ? null : amountOf(total),
    total_text: total === undefined ? null : amountTextOf(total),
    currency: total === undefined ? null : currencyOf(total),
    account_type: firstString(seller, ['accountType']),
    marketplace_id:
      firstString(marketplace, ['marketplaceId']) ??
      firstString(seller, ['marketplaceId']) ??
      marketplaceIdOf([firstString(marketplace, ['marketplaceName'])]),
    marketplace: firstString(marketplace, ['marketplaceName']),
    ...Object.fromEntries(
      Object.entries(columnIdentifiers).map(([column, name]) => [
        column,
        firstOf(
          identifiers.filter((each) => firstString(each, ['relatedIdentifierName']) === name),
          (each) => nonEmpty(firstString(each, ['relatedIdentifierValue'])),
        ),
      ]),
    ),
    deferral_reason: firstOf(deferrals, (each) => firstString(each, ['deferralReason'])),
    maturity_at: firstOf(deferrals, (each) => {
      const date = firstString(each, ['maturityDate']);
      return date === null ? null : instantOf(date);
    }),
  };
}

function entryOf(
  node: JsonNode,
  row: Row,
  entry: number,
  amount: Amount,
  net: ReadonlySet<JsonObject>,
  isShared: boolean,
): Row {
  const item = isShared && net.has(amount.node) ? itemsOf(node)[0] : amount.item;
  const own = item === undefined ? [] : productsOf(item);
  const products = [own, productsOf(node)];
  const product = <T>(of: (context: JsonObject) => T | null): T | null =>
    firstOf(products, (contexts) => firstOf(contexts, of));
  const type = row['transaction_type'];
  const chosen = [
    'transaction_id',
    'transaction_type',
    'status',
    'deferred_transaction_id',
    'posted_at',
    'effective_at',
  ];
  return {
    ...Object.fromEntries(
      ['event_id', ...chosen, 'amazon_order_id', 'marketplace_id', 'marketplace', 'group_id'].map((name) => [
        name,
        row[name],
      ]),
    ),
    entry,
    path: amount.path,
    breakdown: amount.types.length === 0 ? null : amount.types.join('/'),
    item: amount.index,
    sku: product((context) => firstString(context, ['sku'])),
    asin: product((context) => firstString(context, ['asin'])),
    quantity: product((context) => quantityOf(memberOf(context, 'quantityShipped'))),
    fulfillment_network: product((context) => firstString(context, ['fulfillmentNetwork'])),
    kind: kindOf(typeof type === 'string' ? type : '', amount.types),
    name: amount.types.at(-1) ?? null,
    role: net.has(amount.node) ? 'net' : 'memo',
    amount: amountOf(amount.node),
    amount_text: amountTextOf(amount.node),
    currency: currencyOf(amount.node),
  };
}

function firstOf<T, V>(from: readonly T[], of: (each: T) => V | null): V | null {
  for (const each of from) {
    const value = of(each);
    if (value !== null) return value;
  }
  return null;
}

function quantityOf(node: JsonNode | undefined): bigint | null {
  if (node?.type === 'number') return int64Of(node.text);
  return node?.type === 'string' ? int64OfDigits(node.value) : null;
}

/** The objects of a list: of an array, of arrays in it, or the one that came in its place, which may hold the list itself. */
function objectsOf(list: JsonNode | undefined, name: string): JsonObject[] {
  if (list?.type === 'array') return list.items.flatMap((each) => objectsOf(each, name));
  return list?.type === 'object' ? [list, ...objectsOf(memberOf(list, name), name)] : [];
}

/** Every object among the items, a list that came as an object included. */
function itemObjects(node: JsonNode): JsonObject[] {
  return objectsOf(memberOf(node, 'items'), 'items');
}

function hasItems(item: JsonObject): boolean {
  const items = memberOf(item, 'items');
  return items !== undefined && !(items.type === 'literal' && items.value === null);
}

function itemsOf(node: JsonNode): JsonObject[] {
  return itemObjects(node).filter((item) => !hasItems(item));
}

function contextsOf(node: JsonNode, type: string): JsonObject[] {
  return [node, ...itemObjects(node)]
    .flatMap((owner) => objectsOf(memberOf(owner, 'contexts'), 'contexts'))
    .filter((context) => firstString(context, ['contextType']) === type)
    .toSorted((a, b) => a.start - b.start);
}

function productsOf(owner: JsonNode): JsonObject[] {
  return objectsOf(memberOf(owner, 'contexts'), 'contexts').filter(
    (context) => firstString(context, ['contextType']) === 'ProductContext',
  );
}

function moneyOf(node: JsonNode | undefined): JsonObject | undefined {
  const isMoney = memberOf(node, 'currencyCode') !== undefined && memberOf(node, 'currencyAmount') !== undefined;
  return isMoney && node?.type === 'object' ? node : undefined;
}

function amountOf(money: JsonObject): bigint | null {
  const amount = numberOf(memberOf(money, 'currencyAmount'));
  return amount === null ? null : millionthsOf(amount);
}

function amountTextOf(money: JsonObject): string | null {
  const amount = numberOf(memberOf(money, 'currencyAmount'));
  return amount !== null && millionthsOf(amount) === null ? amount : null;
}

function currencyOf(money: JsonObject): string | null {
  const code = memberOf(money, 'currencyCode');
  return code?.type === 'string' ? wellFormed(code.value) : null;
}

type Level = 'transaction' | 'items' | 'breakdowns' | 'other';

/** Every amount, outer before inner, in the order of the text. */
function amountsOf(transaction: JsonNode): Amount[] {
  const found: Amount[] = [];
  const visit = (node: JsonNode, level: Level, at: Omit<Amount, 'node'>): void => {
    if (node.type === 'array') {
      const inner = level === 'transaction' ? 'other' : level;
      for (const [number, each] of node.items.entries()) {
        visit(each, inner, { ...at, path: `${at.path}[]`, index: at.index ?? number });
      }
    }
    if (node.type !== 'object') return;
    const type = level === 'breakdowns' ? firstString(node, ['breakdownType']) : null;
    const here = {
      ...at,
      types: type === null ? at.types : [...at.types, type],
      item: level === 'items' ? node : at.item,
    };
    if (moneyOf(node) !== undefined) found.push({ ...here, node });
    for (const { key, value } of node.members) {
      const path = node === transaction ? key : `${at.path}.${key}`;
      visit(value, levelOf(level, key), { ...here, path });
    }
  };
  visit(transaction, 'transaction', { path: '', types: [], index: null, item: undefined });
  return found;
}

function levelOf(level: Level, key: string): Level {
  if (key === 'items' && (level === 'transaction' || level === 'items')) return 'items';
  return key === 'breakdowns' && level !== 'other' ? 'breakdowns' : 'other';
}

/** The outermost objects of a list, as trees. */
function treesOf(list: JsonNode | undefined, treeOf: (node: JsonObject) => Tree): Tree[] {
  if (list?.type === 'array') return list.items.flatMap((each) => treesOf(each, treeOf));
  return list?.type === 'object' ? [treeOf(list)] : [];
}

function breakdownTree(node: JsonObject): Tree {
  return {
    amount: moneyOf(memberOf(node, 'breakdownAmount')),
    children: treesOf(memberOf(node, 'breakdowns'), breakdownTree),
  };
}

function itemTree(node: JsonObject): Tree {
  const items = treesOf(memberOf(node, 'items'), itemTree);
  return {
    amount: moneyOf(memberOf(node, 'totalAmount')),
    children: [...items, ...treesOf(memberOf(node, 'breakdowns'), breakdownTree)],
  };
}

/** Undefined for a tree without any amount. */
function worthOf({ amount, children }: Tree): Worth | undefined {
  return amount === undefined ? sumOf(children) : { value: amountOf(amount), currency: currencyOf(amount) };
}

function sumOf(trees: readonly Tree[]): Worth | undefined {
  const worths = trees.map(worthOf).filter((worth) => worth !== undefined);
  const [first] = worths;
  if (first === undefined) return undefined;
  const isOne = worths.every(({ value, currency }) => value !== null && currency === first.currency);
  return { currency: first.currency, value: isOne ? worths.reduce((sum, { value }) => sum + (value ?? 0n), 0n) : null };
}

/** Undefined where the trees don't add up to the amount. */
function cutOfForest(trees: readonly Tree[], total: JsonObject): JsonObject[] | undefined {
  const sum = sumOf(trees);
  if (sum === undefined || sum.value === null) return undefined;
  return sum.value === amountOf(total) && sum.currency === currencyOf(total) ? trees.flatMap(cutOf) : undefined;
}

function cutOf({ amount, children }: Tree): JsonObject[] {
  // What has no amount is worth what is in it, exact or not.
  if (amount === undefined) return children.flatMap(cutOf);
  return cutOfForest(children, amount) ?? [amount];
}

/** Whether there is one item, without breakdowns, and its total is the transaction's. */
function isOnlyBare(node: JsonNode): boolean {
  const [item, ...others] = itemsOf(node);
  return item !== undefined && others.length === 0 && sumOf(itemTree(item).children) === undefined;
}

interface Net {
  readonly net: ReadonlySet<JsonObject>;
  readonly rule: Rule;
  readonly isReconciled: boolean;
}

function netOf(node: JsonNode, isTransfer: boolean, amounts: readonly Amount[]): Net {
  if (isTransfer || amounts.length === 0) return { net: new Set(), rule: 'nothing', isReconciled: true };
  const total = moneyOf(memberOf(node, 'totalAmount'));
  if (total === undefined) return { net: new Set(), rule: 'nothing', isReconciled: false };
  const byItems = cutOfForest(treesOf(memberOf(node, 'items'), itemTree), total);
  const byBreakdowns = cutOfForest(treesOf(memberOf(node, 'breakdowns'), breakdownTree), total);
  const isBare = byItems !== undefined && isOnlyBare(node);
  const chosen = isBare ? (byBreakdowns ?? byItems) : (byItems ?? byBreakdowns);
  const ofItems = isBare ? (byBreakdowns === undefined ? 'bare item' : 'shared') : 'items';
  const rule = byItems !== undefined ? ofItems : byBreakdowns === undefined ? 'total' : 'breakdowns';
  return { net: new Set(chosen ?? [total]), rule, isReconciled: chosen !== undefined };
}

const wrappers = ['Sales', 'Expenses', 'Refunded Sales', 'Refunded Expenses', 'Refund Sales', 'RefundExpenses'];

function kindOf(transactionType: string, types: readonly string[]): string {
  const segments = types.filter((type) => !wrappers.includes(type));
  const some = (matches: (segment: string) => boolean): boolean => segments.some(matches);
  const oneOf = (...names: string[]) => names.includes(transactionType);
  if (transactionType === 'Transfer') return 'disbursement';
  const withheld = ['MarketplaceFacilitatorTax', 'MarketplaceFacilitatorVAT', 'LowValueGoodsTax', 'TaxWithheld'];
  if (some((segment) => withheld.some((name) => segment.startsWith(name)))) return 'tax_withheld';
  const isFee = (segment: string): boolean =>
    ['Fee', 'Fees', 'Chargeback'].some((end) => segment.endsWith(end)) ||
    ['Commission', 'RefundCommission', 'Subscription'].includes(segment);
  if (some(isFee)) return 'fee';
  if (some((segment) => ['PromoRebates', 'Promo'].includes(segment) || segment.endsWith('Discount')))
    return 'promotion';
  if (some((segment) => segment.endsWith('Reimbursement') || segment === 'FBAReversedReimbursement')) {
    return 'reimbursement';
  }
  if (some((segment) => ['ReserveCredit', 'ReserveDebit', 'RetrochargeReversal'].includes(segment)))
    return 'adjustment';
  if (some((segment) => ['BaseTax', 'TaxOnRevenue'].includes(segment))) return 'tax';
  const charges = ['ProductCharges', 'Shipping', 'Giftwrap', 'GiftWrap', 'Tax', 'RecommerceLiquidation'];
  if (some((segment) => charges.includes(segment) || /(?:Principal|Tax)$/.test(segment))) return 'charge';
  if (oneOf('ServiceFee', 'ProductAdsPayment', 'AmazonFees')) return 'fee';
  if (transactionType.includes('Reimbursement')) return 'reimbursement';
  if (oneOf('Adjustment', 'MiscellaneousLedgerAdjustment', 'RemovalShipment')) return 'adjustment';
  return oneOf('Retrocharge', 'ChargeRefund') ? 'tax' : 'unknown';
}
