import { instantText } from './json-sink.js';
import { type Market, markets } from './marketplaces.js';
import { numberText } from './number-text.js';
import type { Period } from './settlement-periods.js';
import { hash } from './seeded-random.js';

/** A group as the service tells it; amounts in millionths. */
export interface GroupFacts {
  readonly id: string;
  readonly period: Period;
  /** Whether its events still come in. */
  readonly isOpen: boolean;
  readonly beginningBalance: bigint;
  /** The beginning balance and all that was booked since. */
  readonly total: bigint;
}

const salt = { variety: 71, trace: 72 };
const statuses = ['Succeeded', 'Succeeded', 'Processing', 'Failed'] as const;
const [dollars] = markets;

function money(key: string, { currency, scale }: Market, millionths: bigint, choice: number): string {
  const amount = numberText(millionths, scale, choice);
  return `"${key}":{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
}

/** What the seller's bank got, at a rate that never changes, cut to whole cents. */
function converted(millionths: bigint, market: Market): bigint {
  const cent = BigInt(dollars.unit);
  return ((millionths * market.dollars) / 1_000_000n / cent) * cent;
}

/** The JSON of a financial event group. */
export function groupJson(key: number, { id, period, isOpen, beginningBalance, total }: GroupFacts): string {
  const { market, index, start, end } = period;
  const number = index * markets.length + market.index;
  const choice = hash(key, number, salt.variety);
  const trace = hash(key, number, salt.trace);
  const members = [
    `"FinancialEventGroupId":"${id}"`,
    `"ProcessingStatus":"${isOpen ? 'Open' : 'Closed'}"`,
    ...(isOpen ? [] : [`"FundTransferStatus":"${statuses[trace % statuses.length] ?? statuses[0]}"`]),
    money('OriginalTotal', market, total, choice),
    ...(!isOpen && market !== dollars && index % 3 !== 0
      ? [money('ConvertedTotal', dollars, converted(total, market), choice >>> 5)]
      : []),
    ...(isOpen
      ? []
      : [
          `"FundTransferDate":"${instantText(end)}"`,
          `"TraceId":"${String(trace).padStart(10, '0')}${String(choice % 1e5).padStart(5, '0')}"`,
          `"AccountTail":"${String(hash(key, market.index, salt.trace) % 1e4).padStart(4, '0')}"`,
        ]),
    money('BeginningBalance', market, beginningBalance, choice >>> 10),
    `"FinancialEventGroupStart":"${instantText(start)}"`,
    ...(isOpen ? [] : [`"FinancialEventGroupEnd":"${instantText(end)}"`]),
  ];
  return `{${members.join(',')}}`;
}
