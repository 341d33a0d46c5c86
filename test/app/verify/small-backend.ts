import type { Backend } from '../../../src/serve/served-apis.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';

const dayMs = 86_400_000;

function money(amount: string, currency = 'USD'): string {
  return `{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
}

/** A shipment worth `charge` less `fee` (texts of numbers); `more` goes behind its members. */
export function shipment(at: string, id: string, charge: string, fee: string, group: string, more = ''): DatedItem {
  const item =
    `{"SellerSKU":"SKU-${id}","QuantityShipped":1,` +
    `"ItemChargeList":[{"ChargeType":"Principal","ChargeAmount":${money(charge)}}],` +
    `"ItemFeeList":[{"FeeType":"Commission","FeeAmount":${money(fee)}}]}`;
  const json = `{"AmazonOrderId":"111-0000000-${id.padStart(7, '0')}","PostedDate":"${at}","ShipmentItemList":[${item}]${more}}`;
  const order = `111-0000000-${id.padStart(7, '0')}`;
  return { at: Date.parse(at), list: 'ShipmentEventList', json, group, order };
}

/** A fee without a date of its own. */
export function fee(at: string, amount: string, group: string): DatedItem {
  const json = `{"FeeReason":"subscription","FeeList":[{"FeeType":"Subscription","FeeAmount":${money(amount)}}]}`;
  return { at: Date.parse(at), list: 'ServiceFeeEventList', json, group };
}

export interface SettlementFacts {
  readonly id: string;
  readonly start: string;
  /** Left out: it is open. */
  readonly end?: string;
  readonly beginning: string;
  /** Left out: it has none. */
  readonly total?: string;
  readonly payout?: { readonly status: string; readonly at: string };
}

export function settlement({ id, start, end, beginning, total, payout }: SettlementFacts): DatedItem {
  const members = [
    `"FinancialEventGroupId":"${id}"`,
    `"ProcessingStatus":"${end === undefined ? 'Open' : 'Closed'}"`,
    ...(total === undefined ? [] : [`"OriginalTotal":${money(total)}`]),
    ...(payout === undefined ? [] : [`"FundTransferStatus":"${payout.status}"`, `"FundTransferDate":"${payout.at}"`]),
    `"BeginningBalance":${money(beginning)}`,
    `"FinancialEventGroupStart":"${start}"`,
    ...(end === undefined ? [] : [`"FinancialEventGroupEnd":"${end}"`]),
  ];
  return { at: Date.parse(start), list: '', json: `{${members.join(',')}}`, group: id };
}

export const clockStart = '2025-03-08T00:05:00Z';
export const range = { from: '2025-02-20', to: '2025-03-08' };

/** Two settlements in dollars, the first one closed: sixteen days, an event on each, and fees without a date. */
export function smallItems(): DatedItem[] {
  const items: DatedItem[] = [];
  const start = Date.parse('2025-02-20T00:00:00Z');
  for (let day = 0; day < 16; day++) {
    const at = new Date(start + day * dayMs + 7_200_000).toISOString();
    items.push(shipment(at, String(day), '25.10', '-3.765', day < 14 ? 'GROUP-1' : 'GROUP-2'));
  }
  // 14 × 21.335 − 39.99 twice.
  items.push(fee('2025-02-25T12:00:00Z', '-39.99', 'GROUP-1'), fee('2025-02-25T12:00:00Z', '-39.99', 'GROUP-1'));
  items.push(
    settlement({
      id: 'GROUP-1',
      start: '2025-02-20T00:00:00Z',
      end: '2025-03-06T00:00:00Z',
      beginning: '10.00',
      total: '228.71',
    }),
    settlement({ id: 'GROUP-2', start: '2025-03-06T00:00:00Z', beginning: '0' }),
  );
  return items;
}

export function smallBackend(items: readonly DatedItem[] = smallItems()): Backend {
  return arrayBackend(items);
}
