import { groupBy } from '../../core/group-by.js';
import { contains } from '../../core/windows.js';
import type { Database } from '../../core/duckdb/connection.js';
import type { Lake } from '../../lake/lake.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import {
  isSettlementIn,
  loadedSettlements,
  settlementsByDate,
  settlementsFrom,
  totalFault,
  type Settlement,
} from '../settlements/settlements.js';
import { statement, type FigureReader, type FigureRow, type Scope } from './figure-reader.js';
import brokenText from './broken-settlements.sql';
import settlementRows from '../settlements/settlements.sql';
import laterPaymentText from './later-payments.sql';
import largestAtText from './largest-instants.sql';
import largestText from './largest-amounts.sql';
import lineText from './settlement-lines.sql';
import netText from './settlement-nets.sql';
import { difference, signOf, decimalSum, timesOf } from './figure-texts.js';

const netSums = statement(netText, {
  groupId: 'text',
  currency: 'textOrNull',
  net: 'textOrNull',
  inexact: 'count',
  unknown: 'count',
  times: 'count',
});
const brokenSettlements = statement(brokenText, { groupId: 'text' });
const laterPayments = statement(laterPaymentText, { groupId: 'text', paidBy: 'text', paidAt: 'textOrNull' });
const entryLines = statement(lineText, {
  groupId: 'text',
  currency: 'text',
  eventList: 'textOrNull',
  kind: 'textOrNull',
  name: 'textOrNull',
  lines: 'count',
  times: 'count',
  total: 'decimal',
});
const largestInstants = statement(largestAtText, { micros: 'text' });
const largestAmounts = statement(largestText, {
  groupId: 'text',
  effectiveAt: 'text',
  eventList: 'text',
  kind: 'text',
  name: 'textOrNull',
  amazonOrderId: 'textOrNull',
  sku: 'textOrNull',
  amount: 'decimal',
  currency: 'text',
});

/**
 * The check of a settlement's total, in this order: it equals the beginning balance plus the net entries, to the millionth; it
 * doesn't; the settlement is open; its events weren't loaded after it closed; some of its events were forgotten.
 */
export type SettlementVerdict = 'adds-up' | 'differs' | 'open' | 'not-loaded' | 'forgotten';

/** Entries of a settlement's net: sums by name, and the largest amounts. */
export interface SettlementEntries {
  readonly lines: readonly FigureRow<typeof entryLines>[];
  readonly largest: readonly FigureRow<typeof largestAmounts>[];
}

export interface SettlementFigures {
  readonly settlement: Settlement;
  readonly verdict: SettlementVerdict;
  /** The finding of `verify` on a total that differs; undefined for every other verdict. */
  readonly fault: string | undefined;
  /** Its currency, or that of its entries; empty where there is none. */
  readonly currency: string;
  /** Sum of the net entries in that currency; undefined where none is loaded. */
  readonly net: string | undefined;
  /** Beginning balance and net together. */
  readonly sum: string;
  /** Sum less total; undefined where it is 0 or they can't be compared. */
  readonly discrepancy: string | undefined;
  /** Its total where the bank received that in the range, else 0. */
  readonly paidOut: string;
  /** Number of its amounts, net or not, and of those with an unknown role. */
  readonly times: number;
  readonly unknown: number;
  /** The later settlement whose transfer paid this one; undefined: none. */
  readonly laterPayment: FigureRow<typeof laterPayments> | undefined;
  /** Undefined where the report leaves them out. */
  readonly entries: SettlementEntries | undefined;
}

/** What the settlements of a scope are read from. */
interface SettlementSource {
  readonly rows: FigureReader;
  readonly database: Database;
  readonly scope: Scope;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the settlements that overlap the range or whose transfer was in it, newest first, and compares each with its total like `verify`.
 * `detailed`: the number of settlements with entries, over all currencies.
 */
export async function readSettlements(
  { rows, database, scope, signal }: SettlementSource,
  lake: Lake,
  detailed: number,
): Promise<SettlementFigures[]> {
  const { account, from, to } = scope;
  const range = { start: from ?? -Infinity, end: to ?? Infinity };
  const source = { table: roles.settlements.main.name, file: '', account };
  const listed = await settlementsFrom(settlementRows, source, database, signal);
  const isAll = from === undefined && to === undefined;
  const settlements = listed.filter((settlement) => isAll || isSettlementIn(settlement, range)).toSorted(newestFirst);
  const comparable = { lake, settlements, damaged: [] };
  const byEvent = new Set(loadedSettlements(comparable));
  const isPaidLoaded = settlementsByDate(comparable);
  const read = lake.snapshot.keysOf(account, roles.bySettlement.name);
  // Events that v0 returned while the settlement was open are incomplete, and its transactions aren't read then.
  const isLoaded = (settlement: Settlement) =>
    byEvent.has(settlement) || (!read.has(settlement.loadKey) && isPaidLoaded(settlement));
  const broken = new Set((await rows(brokenSettlements)).map(({ groupId }) => groupId));
  const byGroup = <T extends { groupId: string }>(all: readonly T[]) => groupBy(all, ({ groupId }) => groupId);
  const nets = byGroup(await rows(netSums));
  const payments = new Map((await rows(laterPayments)).map((row) => [row.groupId, row]));
  const figures = settlements.map((settlement) => {
    const verdict = verdictOf(settlement, isLoaded(settlement), !broken.has(settlement.id));
    const depositedAt = settlement.paidAt ?? settlement.end;
    const isDeposited = isPaid(settlement) && (isAll || (depositedAt !== null && contains(range, depositedAt)));
    return {
      ...settlementFigures(settlement, nets.get(settlement.id) ?? [], payments.get(settlement.id), verdict),
      paidOut: isDeposited ? (settlement.total ?? '0') : '0',
    };
  });
  const wanted = new Set(selectDetailed(figures, detailed).map(({ settlement }) => settlement.id));
  if (wanted.size === 0) return figures;
  const ids = JSON.stringify([...wanted]);
  const lines = byGroup(await rows(entryLines, { ids, most: mostLines }));
  const instants = await rows(largestInstants, { ids, most: mostLargest });
  const at = JSON.stringify(instants.map(({ micros }) => micros));
  const largest = byGroup(await rows(largestAmounts, { ids, instants: at, most: mostLargest }));
  return figures.map((one) => {
    const { id } = one.settlement;
    if (!wanted.has(id)) return one;
    return { ...one, entries: { lines: lines.get(id) ?? [], largest: largest.get(id) ?? [] } };
  });
}

/** Largest numbers of sums and of amounts listed for a settlement. */
const mostLines = 40;
const mostLargest = 8;

function newestFirst(one: Settlement, other: Settlement): number {
  const later = (other.start ?? -Infinity) - (one.start ?? -Infinity);
  return later > 0 || later < 0 ? later : one.id < other.id ? -1 : 1;
}

/** The verdict on a settlement that can't be compared; undefined: its sum decides. */
function verdictOf({ isClosed }: Settlement, isLoaded: boolean, isWhole: boolean): SettlementVerdict | undefined {
  if (!isClosed) return 'open';
  if (!isLoaded) return 'not-loaded';
  return isWhole ? undefined : 'forgotten';
}

function settlementFigures(
  settlement: Settlement,
  nets: readonly FigureRow<typeof netSums>[],
  laterPayment: FigureRow<typeof laterPayments> | undefined,
  known: SettlementVerdict | undefined,
): Omit<SettlementFigures, 'paidOut'> {
  const main = settlement.currency ?? settlement.beginningCurrency ?? nets[0]?.currency ?? null;
  const fault = known === undefined ? totalFault(settlement, nets) : undefined;
  const isRead = nets.length > 0 || known === undefined;
  const net = isRead ? (nets.find(({ currency }) => currency === main)?.net ?? '0') : undefined;
  const sum = decimalSum([settlement.beginning ?? '0', net ?? '0']);
  const { total } = settlement;
  const discrepancy = known === undefined && total !== null ? difference(sum, total) : undefined;
  return {
    settlement,
    verdict: known ?? (fault === undefined ? 'adds-up' : 'differs'),
    fault,
    currency: main ?? '',
    net,
    sum,
    discrepancy: discrepancy !== undefined && signOf(discrepancy) !== 0 ? discrepancy : undefined,
    times: timesOf(nets),
    unknown: nets.reduce((all, { unknown }) => all + unknown, 0),
    laterPayment,
    entries: undefined,
  };
}

/** Smallest number of settlements of each currency with entries, whatever the number of currencies. */
const leastDetailed = 3;

/** The settlements to show with entries, as many for each currency: those that don't add up first, then the newest ones. */
function selectDetailed(figures: readonly SettlementFigures[], detailed: number): SettlementFigures[] {
  const currencies = groupBy(figures, ({ currency }) => currency);
  const most = Math.max(leastDetailed, Math.floor(detailed / currencies.size));
  return [...currencies.values()].flatMap((settlements) => {
    const differing = settlements.filter(({ verdict }) => verdict === 'differs');
    const others = settlements.filter(({ verdict, times }) => verdict !== 'differs' && times > 0);
    return [...differing, ...others].slice(0, most);
  });
}

/** Whether the bank received a settlement's payout. */
export function isPaid({ payoutStatus }: Settlement): boolean {
  return payoutStatus === 'Succeeded';
}

/** Whether the payout of a settlement failed. */
export function isUnpaid({ settlement: { payoutStatus } }: SettlementFigures): boolean {
  return /^fail/i.test(payoutStatus ?? '');
}
