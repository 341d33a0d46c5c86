import { millionths, millionthsText } from '../../core/numeric/decimal.js';

/** In SQL: what is summed of the entries of each settlement and currency. */
export const netSums =
  "sum(amount) FILTER (role = 'net') AS net, count(*) FILTER (role = 'net' AND amount_text IS NOT NULL) AS inexact, " +
  "count(*) FILTER (role = 'unknown') AS unknown";

/** What a settlement's listing says of its money. */
export interface SettlementMoney {
  readonly currency: string | null;
  /** Decimal texts. */
  readonly total: string | null;
  readonly beginning: string | null;
  readonly beginningCurrency: string | null;
}

/** The entries of one settlement in one currency. */
export interface NetSum {
  readonly currency: string | null;
  /** Decimal text; null where there is no net amount. */
  readonly net: string | null;
  /** Net amounts that DECIMAL(18,6) can't hold, which the sum lacks. */
  readonly inexact: number;
  /** Amounts of unknown role, which the sum lacks. */
  readonly unknown: number;
}

/** Why the net sums of a closed settlement don't make its total, to the millionth; undefined where they do. */
export function totalFault(
  { total, beginning, currency, beginningCurrency }: SettlementMoney,
  nets: readonly NetSum[],
): string | undefined {
  if (total === null) return 'the group is closed and has no OriginalTotal';
  if (nets.some(({ inexact }) => inexact > 0)) return 'net amounts do not fit DECIMAL(18,6): they cannot be added up';
  if (beginning !== null && beginningCurrency !== currency) {
    return `OriginalTotal is in ${currency ?? 'none'}, BeginningBalance in ${beginningCurrency ?? 'none'}`;
  }
  const expected = millionths(total) - millionths(beginning ?? '0');
  const net = millionths(nets.find((sum) => sum.currency === currency)?.net ?? '0');
  const foreign = nets.filter((sum) => sum.currency !== currency && millionths(sum.net ?? '0') !== 0n);
  const unknown = nets.reduce((sum, { unknown: more }) => sum + more, 0);
  const hint = unknown === 0 ? '' : `; ${unknown} amounts are at paths of unknown role`;
  const of = currency ?? 'no currency';
  if (net !== expected) {
    const [found, wanted, apart] = [net, expected, net - expected].map(millionthsText);
    return `net is ${found ?? ''} ${of}, total less beginning balance ${wanted ?? ''}: ${apart ?? ''} apart${hint}`;
  }
  if (foreign.length === 0) return undefined;
  return `the group is in ${of} and has net amounts in ${foreign.map((sum) => sum.currency ?? 'none').join(', ')}`;
}
