import type { Database } from '../../core/duckdb/connection.js';
import type { Lake } from '../../lake/lake.js';
import { listing } from '../verify/main-tables.js';
import { loadedSettlements, settlementsFrom, type Settlement } from '../verify/settlements.js';
import { totalFault, type NetSum } from '../verify/settlement-total.js';
import { difference, signOf, sumOf } from './report-amounts.js';
import { statementsOf, type Scope, groupedBy, rowsOf, type Row } from './report-statements.js';

/**
 * What can be said of a settlement's total: it is the beginning balance and the net entries together, to the millionth;
 * it isn't; the settlement is open; its events weren't read by settlement since it closed; some of them were forgotten.
 */
export type Verdict = 'adds-up' | 'differs' | 'open' | 'not-loaded' | 'forgotten';

/** Net entries that share list, kind and name. */
export interface SettlementLine {
  /** Null, as kind and name are: all lines that aren't listed by themselves. */
  readonly list: string | null;
  readonly kind: string | null;
  readonly name: string | null;
  readonly currency: string;
  /** Lines in this one. */
  readonly lines: number;
  readonly times: number;
  readonly total: string;
}

export interface LargestEntry {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly list: string;
  readonly name: string | null;
  readonly kind: string;
  readonly order: string | null;
  readonly sku: string | null;
  readonly currency: string;
  readonly amount: string;
}

/** What stands behind a settlement's net. */
export interface SettlementEntries {
  readonly lines: readonly SettlementLine[];
  readonly largest: readonly LargestEntry[];
}

export interface SettlementFigures {
  readonly settlement: Settlement;
  readonly verdict: Verdict;
  /** What `verify` says of a total that isn't made; undefined for every other verdict. */
  readonly fault: string | undefined;
  /** Its own currency, or that of its entries; empty where there is none. */
  readonly currency: string;
  /** Sum of the net entries in that currency; undefined where none are loaded. */
  readonly net: string | undefined;
  /** Beginning balance and net together. */
  readonly sum: string;
  /** By how much sum and total are apart; undefined where they can't be compared. */
  readonly apart: string | undefined;
  /** Amounts behind it, net or not, and those of unknown role. */
  readonly times: number;
  readonly unknown: number;
  /** Undefined where the report leaves them out. */
  readonly entries: SettlementEntries | undefined;
}

export interface SettlementQuestion {
  readonly lake: Lake;
  readonly scope: Scope;
  /** Settlements whose entries are wanted, over all currencies. */
  readonly detailed: number;
  readonly signal: AbortSignal | undefined;
}

/** Every settlement that opened in the range, the newest first, held against its total as `verify` does it. */
export async function readSettlements(
  database: Database,
  { lake, scope, detailed, signal }: SettlementQuestion,
): Promise<SettlementFigures[]> {
  const sql = statementsOf(scope);
  const place = { table: listing.table, file: '', account: scope.account };
  const settlements = (await settlementsFrom(sql.settlements, place, database, signal)).toSorted(newestFirst);
  const loaded = new Set(loadedSettlements({ lake, settlements, damaged: [], obscure: new Set() }));
  const broken = new Set((await rowsOf(database, sql.brokenGroups, signal)).map((row) => row.text('group_id')));
  const nets = groupedBy(await rowsOf(database, sql.nets, signal), (row) => row.text('group_id'));
  const figures = settlements.map((settlement) => {
    const isWhole = !broken.has(settlement.id);
    return figuresOf(settlement, nets.get(settlement.id) ?? [], verdictOf(settlement, loaded.has(settlement), isWhole));
  });
  const wanted = detailedOf(figures, detailed).map(({ settlement }) => settlement.id);
  if (wanted.length === 0) return figures;
  const lines = groupedBy(await rowsOf(database, sql.lines(wanted), signal), (row) => row.text('group_id'));
  const instants = (await rowsOf(database, sql.largestAt(wanted), signal)).map((row) => row.text('micros'));
  const largestRows = instants.length === 0 ? [] : await rowsOf(database, sql.largest(wanted, instants), signal);
  const largest = groupedBy(largestRows, (row) => row.text('group_id'));
  const isWanted = new Set(wanted);
  return figures.map((of) => {
    const { id } = of.settlement;
    if (!isWanted.has(id)) return of;
    const entries = { lines: (lines.get(id) ?? []).map(lineOf), largest: (largest.get(id) ?? []).map(largestOf) };
    return { ...of, entries };
  });
}

function newestFirst(one: Settlement, other: Settlement): number {
  const later = (other.start ?? -Infinity) - (one.start ?? -Infinity);
  return later > 0 || later < 0 ? later : one.id < other.id ? -1 : 1;
}

/** What can't be compared; undefined: the sums decide. */
function verdictOf({ isClosed }: Settlement, isLoaded: boolean, isWhole: boolean): Verdict | undefined {
  if (!isClosed) return 'open';
  if (!isLoaded) return 'not-loaded';
  return isWhole ? undefined : 'forgotten';
}

function figuresOf(settlement: Settlement, rows: readonly Row[], known: Verdict | undefined): SettlementFigures {
  const nets = rows.map((row): NetSum => ({
    currency: row.textOrNull('currency'),
    net: row.textOrNull('net'),
    inexact: row.count('inexact'),
    unknown: row.count('unknown'),
  }));
  const own = settlement.currency ?? settlement.beginningCurrency ?? nets[0]?.currency ?? null;
  const fault = known === undefined ? totalFault(settlement, nets) : undefined;
  const isRead = nets.length > 0 || known === undefined;
  const net = isRead ? (nets.find(({ currency }) => currency === own)?.net ?? '0') : undefined;
  const sum = sumOf([settlement.beginning ?? '0', net ?? '0']);
  const { total } = settlement;
  const apart = known === undefined && total !== null ? difference(sum, total) : undefined;
  return {
    settlement,
    verdict: known ?? (fault === undefined ? 'adds-up' : 'differs'),
    fault,
    currency: own ?? '',
    net,
    sum,
    apart: apart !== undefined && signOf(apart) !== 0 ? apart : undefined,
    times: rows.reduce((all, row) => all + row.count('times'), 0),
    unknown: nets.reduce((all, { unknown }) => all + unknown, 0),
    entries: undefined,
  };
}

/** Settlements of each currency whose entries are told however many currencies there are. */
const leastDetailed = 3;

/** Of each currency its part of what is wanted: those that don't add up first, then the newest ones. */
function detailedOf(figures: readonly SettlementFigures[], detailed: number): SettlementFigures[] {
  const currencies = groupedBy(figures, ({ currency }) => currency);
  const most = Math.max(leastDetailed, Math.floor(detailed / currencies.size));
  return [...currencies.values()].flatMap((own) => {
    const differing = own.filter(({ verdict }) => verdict === 'differs');
    const others = own.filter(({ verdict, times }) => verdict !== 'differs' && times > 0);
    return [...differing, ...others].slice(0, most);
  });
}

function lineOf(row: Row): SettlementLine {
  return {
    list: row.textOrNull('event_list'),
    kind: row.textOrNull('kind'),
    name: row.textOrNull('name'),
    currency: row.text('currency'),
    lines: row.count('lines'),
    times: row.count('times'),
    total: row.decimal('total'),
  };
}

function largestOf(row: Row): LargestEntry {
  return {
    at: row.text('effective_at'),
    list: row.text('event_list'),
    name: row.textOrNull('name'),
    kind: row.text('kind'),
    order: row.textOrNull('amazon_order_id'),
    sku: row.textOrNull('sku'),
    currency: row.text('currency'),
    amount: row.decimal('amount'),
  };
}
