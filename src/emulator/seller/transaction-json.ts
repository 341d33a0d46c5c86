import { shortInstant } from '../../core/numeric/instant.js';
import type { SellerMarketplace } from '../profiles/seller-profile.js';
import { numberText, usualChoice } from './json-sink.js';
import type { CountedAmount, SoldItem } from './transaction-sink.js';

/** A node of a tree of amounts, in millionths. */
interface BreakdownNode {
  readonly type: string;
  readonly amount: number;
  readonly children: readonly BreakdownNode[];
}

export function totalOf(amounts: readonly { readonly millionths: number }[]): number {
  return amounts.reduce((sum, { millionths }) => sum + millionths, 0);
}

const leaf = (type: string, amount: number): BreakdownNode => ({ type, amount, children: [] });

/** A node whose amount is the sum of its children. */
export function sumNode(type: string, children: readonly BreakdownNode[]): BreakdownNode {
  return { type, amount: children.reduce((sum, { amount }) => sum + amount, 0), children };
}

/** Groups amounts by the type at a depth of their paths, in order of first appearance. */
function grouped(amounts: readonly CountedAmount[], depth: number): [type: string, amounts: CountedAmount[]][] {
  const groups: [string, CountedAmount[]][] = [];
  for (const amount of amounts) {
    const type = amount.path[depth] ?? '';
    // Rarely more than five groups: a linear search is faster than an index.
    const known = groups.find(([name]) => name === type);
    if (known === undefined) groups.push([type, [amount]]);
    else known[1].push(amount);
  }
  return groups;
}

/** Tax on fees in per cent, for currencies whose marketplaces charge it. */
const feeTaxes: Readonly<Record<string, number>> = { GBP: 20, EUR: 19, MXN: 16 };

/** A fee without the tax on it. */
export function netFee(amount: number, { currency, minorUnit }: SellerMarketplace): number {
  const percent = feeTaxes[currency];
  return percent === undefined ? amount : Math.trunc((amount * 100) / (100 + percent) / minorUnit) * minorUnit;
}

/** A fee with its components `Base`, and `Tax` or `Promo`, which add up to the gross amount. */
function feeNode(type: string, amount: number, marketplace: SellerMarketplace): BreakdownNode {
  const { minorUnit } = marketplace;
  const net = netFee(amount, marketplace);
  if (net !== amount) return { type, amount, children: [leaf('Base', net), leaf('Tax', amount - net)] };
  // One commission in sixteen is reduced.
  const promo =
    type === 'Commission' && Math.round(amount / minorUnit) % 16 === 0
      ? -Math.trunc(amount / minorUnit / 10) * minorUnit
      : 0;
  const children = promo === 0 ? [leaf('Base', amount)] : [leaf('Base', amount - promo), leaf('Promo', promo)];
  return { type, amount, children };
}

/** The tree of an item, with all its amounts. */
function fineTree(amounts: readonly CountedAmount[], marketplace: SellerMarketplace): readonly BreakdownNode[] {
  return grouped(amounts, 0).map(([top, within]) => {
    const named = grouped(within, 1).map(([name, same]) => {
      const amount = totalOf(same);
      return same[0]?.isFee === true ? feeNode(name, amount, marketplace) : leaf(name, amount);
    });
    return named.length === 1 && named[0]?.type === '' ? leaf(top, totalOf(within)) : sumNode(top, named);
  });
}

/** The names of the two wrappers in a transaction's tree. */
export interface Wrappers {
  readonly sales: string;
  readonly expenses: string;
}

/**
 * The tree of a transaction, with all amounts in two wrappers. `isCoarse`: without details, which the items have.
 * `hasBoth`: a wrapper without amounts is included with amount 0.
 */
export function wrappedTree(
  amounts: readonly CountedAmount[],
  marketplace: SellerMarketplace,
  wrappers: Wrappers,
  { isCoarse, hasBoth }: { readonly isCoarse: boolean; readonly hasBoth: boolean },
): readonly BreakdownNode[] {
  const wrap = (type: string, ofSales: boolean) => {
    const within = amounts.filter(({ isSale }) => isSale === ofSales);
    const nodes = fineTree(within, marketplace);
    return sumNode(type, isCoarse ? nodes.map(({ type: group, amount }) => leaf(group, amount)) : nodes);
  };
  const wrapped = [wrap(wrappers.sales, true), wrap(wrappers.expenses, false)];
  return hasBoth ? wrapped : wrapped.filter(({ children }) => children.length > 0);
}

/** The contents of a transaction. Amounts are millionths, instants milliseconds since 1970. */
export interface TransactionFacts {
  readonly id: string;
  readonly type: string;
  readonly status: 'DEFERRED' | 'RELEASED' | 'DEFERRED_RELEASED';
  readonly description: string;
  readonly postedAt: number;
  readonly total: number | bigint;
  readonly sellerId: string;
  readonly marketplace: SellerMarketplace;
  /** Whether it concerns the account and no marketplace. */
  readonly isOfAccount: boolean;
  readonly identifiers: readonly (readonly [name: string, value: string])[];
  readonly items: readonly SoldItem[];
  readonly breakdowns: readonly BreakdownNode[];
  /** Reason and end of its deferral; undefined: it was never deferred. */
  readonly deferral: { readonly reason: string; readonly maturesAt: number } | undefined;
  /** Random bits that choose among equivalent spellings; undefined: the usual ones. */
  readonly variety: number | undefined;
}

/** The seller's only type of account. */
export const accountType = 'Standard Orders';

function quotedPairs(name: string, pairs: TransactionFacts['identifiers']): string {
  return pairs.map(([key, value]) => `{"${name}Name":"${key}","${name}Value":"${value}"}`).join(',');
}

export function relatedIdentifiersJson(pairs: TransactionFacts['identifiers']): string {
  return `[${quotedPairs('relatedIdentifier', pairs)}]`;
}

export function moneyJson(
  { currency, scale }: SellerMarketplace,
  millionths: number | bigint,
  choice = usualChoice,
): string {
  return `{"currencyCode":"${currency}","currencyAmount":${numberText(millionths, scale, choice)}}`;
}

/** The JSON of a transaction. */
export function transactionJson(facts: TransactionFacts): string {
  const { name, id: marketplaceId } = facts.marketplace;
  let variety = facts.variety ?? 0;

  function choice(): number {
    if (facts.variety === undefined) return usualChoice;
    variety = (Math.imul(variety, 1_664_525) + 1_013_904_223) | 0;
    return variety >>> 16;
  }
  const money = (millionths: number | bigint) => moneyJson(facts.marketplace, millionths, choice());
  const object = (members: readonly (string | undefined)[]) =>
    `{${members.filter((member) => member !== undefined).join(',')}}`;

  /** An empty list is sometimes null, and sometimes absent. */
  function list(listName: string, elements: string): string | undefined {
    if (elements !== '') return `"${listName}":[${elements}]`;
    const chosen = choice() % 8;
    return chosen === 0 ? `"${listName}":null` : chosen === 1 ? undefined : `"${listName}":[]`;
  }

  /** The most frequent call: it writes the node at once. */
  function node({ type, amount, children }: BreakdownNode): string {
    const nodeMoney = money(amount);
    let below = '';
    for (const child of children) below += (below === '' ? '' : ',') + node(child);
    const breakdowns = list('breakdowns', below);
    return `{"breakdownType":"${type}","breakdownAmount":${nodeMoney}${breakdowns === undefined ? '' : `,${breakdowns}`}}`;
  }

  function item({ sku, asin, quantity, id, stated, amounts }: SoldItem): string {
    // The marketplace charges a fee for an item that it stores and ships.
    const isFulfilled = amounts.some(({ path: [, fee = ''] }) => fee.startsWith('FBA'));
    const product = [
      '"contextType":"ProductContext"',
      ...(asin === undefined ? [] : [`"asin":"${asin}"`]),
      ...(sku === undefined ? [] : [`"sku":${sku}`]),
      ...(quantity === undefined ? [] : [`"quantityShipped":${quantity}`]),
      ...(sku === undefined ? [] : [`"fulfillmentNetwork":"${isFulfilled ? 'AFN' : 'MFN'}"`]),
    ];
    return object([
      list('relatedIdentifiers', id === undefined ? '' : quotedPairs('itemRelatedIdentifier', [id])),
      `"totalAmount":${money(amounts.length === 0 ? (stated ?? 0) : totalOf(amounts))}`,
      list('breakdowns', fineTree(amounts, facts.marketplace).map(node).join(',')),
      list('contexts', product.length === 1 ? '' : `{${product.join(',')}}`),
    ]);
  }

  const { deferral } = facts;
  const context =
    deferral &&
    `{"contextType":"DeferredContext","deferralReason":"${deferral.reason}","maturityDate":"${shortInstant(deferral.maturesAt)}"}`;
  return object([
    `"sellingPartnerMetadata":{"sellingPartnerId":"${facts.sellerId}","accountType":"${accountType}","marketplaceId":"${marketplaceId}"}`,
    `"relatedIdentifiers":${relatedIdentifiersJson(facts.identifiers)}`,
    `"transactionType":"${facts.type}"`,
    `"transactionId":"${facts.id}"`,
    `"transactionStatus":"${facts.status}"`,
    `"description":"${facts.description}"`,
    `"postedDate":"${shortInstant(facts.postedAt)}"`,
    `"totalAmount":${money(facts.total)}`,
    facts.isOfAccount
      ? undefined
      : `"marketplaceDetails":{"marketplaceId":"${marketplaceId}","marketplaceName":"${name}"}`,
    list('items', facts.items.map(item).join(',')),
    list('contexts', context ?? ''),
    list('breakdowns', facts.breakdowns.map(node).join(',')),
  ]);
}
