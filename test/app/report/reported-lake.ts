import { amountsIn } from '../../../src/app/report/figure-texts.js';
import { roundedDecimal } from '../../../src/core/text/money.js';
import domino from '@mixmark-io/domino';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { lakeReport, type Report, type ReportQuestion } from '../../../src/app/report/report.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { fee, settlement, shipment, smallItems } from '../verify/small-backend.js';

/** What a text of the lake may hold to break out of a page. */
export const hostile = `</script><img src=x onerror=alert(1)>"'&amp;\u202e`;
export const longSku = 'S'.repeat(200);

function money(amount: string, currency: string): string {
  return `{"CurrencyCode":"${currency}","CurrencyAmount":${amount}}`;
}

/** A refund of an order of the small backend. */
function refund(at: string, id: string, charge: string, commission: string, group: string): DatedItem {
  const order = `111-0000000-${id.padStart(7, '0')}`;
  const json =
    `{"AmazonOrderId":"${order}","PostedDate":"${at}","ShipmentItemAdjustmentList":[{"SellerSKU":"SKU-${id}",` +
    `"ItemChargeAdjustmentList":[{"ChargeType":"Principal","ChargeAmount":${money(charge, 'USD')}}],` +
    `"ItemFeeAdjustmentList":[{"FeeType":"Commission","FeeAmount":${money(commission, 'USD')}}]}]}`;
  return { at: Date.parse(at), list: 'RefundEventList', json, group, order };
}

function sale(at: string, id: string, sku: string, amount: string, currency: string, group: string): DatedItem {
  const order = `222-0000000-${id.padStart(7, '0')}`;
  const json =
    `{"AmazonOrderId":"${order}","PostedDate":"${at}","ShipmentItemList":[{"SellerSKU":${JSON.stringify(sku)},` +
    `"ItemChargeList":[{"ChargeType":"Principal","ChargeAmount":${money(amount, currency)}}],` +
    `"ItemFeeList":[{"FeeType":${JSON.stringify(hostile)},"FeeAmount":${money('-1.1', currency)}}]}]}`;
  return { at: Date.parse(at), list: 'ShipmentEventList', json, group, order };
}

function event(at: string, list: string, group: string, json: string): DatedItem {
  return { at: Date.parse(at), list, group, json };
}

/**
 * The small backend, two settlements in dollars of which the first adds up, and beside it: refunds, settlements in yen and
 * euros of which one is 0.01 apart, SKUs and names that would break a careless page, and all that a run notices.
 */
export function reportedItems(): DatedItem[] {
  const at = (day: string) => `2025-${day}T09:00:00Z`;
  return [
    ...smallItems(),
    refund(at('03-06'), '3', '-25.10', '3.765', 'GROUP-2'),
    refund(at('03-07'), '4', '-25.10', '3.7650005', 'GROUP-2'),
    event(
      at('03-06'),
      'LoanServicingEventList',
      'GROUP-2',
      `{"LoanAmount":${money('1000000.5', 'USD')},"SourceBusinessEventType":"LoanAdvance"}`,
    ),
    sale(at('02-21'), '1', hostile, '5000', 'JPY', 'GROUP-JPY'),
    sale(at('03-02'), '2', longSku, '10.005', 'EUR', 'GROUP-EUR'),
    event(
      at('03-02'),
      'AdjustmentEventList',
      'GROUP-EUR',
      `{"PostedDate":"${at('03-02')}","AdjustmentType":"X","AdjustmentAmount":${money('-30', 'EUR')}}`,
    ),
    event(
      at('03-03'),
      `Novel${hostile}EventList`,
      'GROUP-2',
      `{"PostedDate":"${at('03-03')}","Surprise":${money('7.77', 'USD')}}`,
    ),
    event(
      at('03-03'),
      'SAFETReimbursementEventList',
      'GROUP-2',
      `{"PostedDate":"${at('03-03')}","ReimbursedAmount":${money('12345678901234.5', 'USD')}}`,
    ),
    {
      ...fee('2025-03-04T12:00:00Z', '-1', 'GROUP-2'),
      json: `{"FeeReason":7,"FeeList":[{"FeeType":["odd"],"FeeAmount":${money('-1', 'USD')}}],"AmazonOrderId":12}`,
    },
    settlement({
      id: 'GROUP-JPY',
      start: '2025-02-21T00:00:00Z',
      end: '2025-03-01T00:00:00Z',
      beginning: '0',
      total: '4998.9',
      payout: { status: 'Failed', at: '2025-03-02T00:00:00Z' },
    }),
    settlement({
      id: 'GROUP-EUR',
      start: '2025-03-01T00:00:00Z',
      end: '2025-03-04T00:00:00Z',
      beginning: '0',
      total: '-21.085',
      payout: { status: 'Succeeded', at: '2025-03-05T00:00:00Z' },
    }),
  ].map((item) => (item.list === '' ? inOwnCurrency(item) : item));
}

/** `settlement` makes dollars. */
function inOwnCurrency(item: DatedItem): DatedItem {
  const currency = /-(JPY|EUR)$/.exec(item.group ?? '')?.[1] ?? 'USD';
  return { ...item, json: item.json.replaceAll('"USD"', JSON.stringify(currency)) };
}

/** Another shop's sales in as many currencies as are asked for, one a month. */
export function manyCurrencies(codes: readonly string[]): DatedItem[] {
  return codes.flatMap((code, at) => [
    sale('2025-02-21T09:00:00Z', String(at), `SKU ${code}`, '100', code, 'GROUP-1'),
    shipment('2025-03-01T09:00:00Z', String(at), '-5', '1', 'GROUP-1'),
  ]);
}

export interface Reported extends Report {
  readonly page: Page;
}

/** A report of a lake, and what a reader of its HTML finds. */
export async function reported(
  { root, clock }: Pick<ReportQuestion, 'clock'> & { readonly root: string },
  question: Partial<ReportQuestion> = {},
): Promise<Reported> {
  const lake = await Lake.open(openStore(root), tables, clock);
  const defaults = { location: 'data/lake', account: undefined, isExport: true };
  const report = await lakeReport({ lake, clock, ...defaults, ...question });
  return { ...report, page: new Page(report.html) };
}

interface Element {
  readonly textContent: string;
  readonly parentNode: Element | null;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  querySelectorAll(selector: string): ArrayLike<Element>;
  getAttribute(name: string): string | null;
}

/** A page as a parser of HTML sees it. */
export class Page {
  readonly #document: Element;

  constructor(html: string) {
    this.#document = domino.createDocument(html) as Element;
  }

  all(selector: string): Element[] {
    return Array.from(this.#document.querySelectorAll(selector));
  }

  texts(selector: string): string[] {
    return this.all(selector).map(({ textContent }) => textContent.replaceAll(/\s+/g, ' ').trim());
  }

  /** The anchor of a currency's chapter; throws where there is none. */
  chapter(currency: string): string {
    const found = this.all('section.chapter h3').find(({ textContent }) => textContent.trim().startsWith(currency));
    const id = found?.getAttribute('id')?.replace(/-h$/, '');
    if (id === undefined) throw new Error(`no chapter of ${currency}`);
    return id;
  }

  /** Cells of the rows of a section's table, by the headings of its columns; the foot's row too. */
  table(section: string, nth = 0): Record<string, string>[] {
    const table = this.all(`#${section} table`)[nth];
    if (table === undefined) throw new Error(`no table ${nth} in ${section}`);
    const textOf = ({ textContent }: Element) => textContent.replaceAll(/\s+/g, ' ').trim();
    // A selector of this parser looks above the table too, where it may stand in the body of another.
    const rows = Array.from(table.querySelectorAll('tr')).filter((row) => row.parentNode?.parentNode === table);
    const names = Array.from(rows[0]?.querySelectorAll('th') ?? []).map(textOf);
    return rows
      .slice(1)
      .map((row) =>
        Object.fromEntries(
          Array.from(row.querySelectorAll('th, td')).map((cell, at) => [names[at] ?? '', textOf(cell)]),
        ),
      );
  }
}

/** An amount as the page writes it, as a decimal text of six places. */
export function read(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)([\d,]+)(?:\.(\d+))?/.exec(text) ?? [];
  if (whole === '') throw new Error(`no amount: ${text}`);
  return `${sign}${whole.replaceAll(',', '')}.${fraction.padEnd(6, '0')}`;
}

/** As a table shows an amount. */
export const shown = (amount: unknown, currency: string) =>
  amountsIn(currency)(roundedDecimal(String(amount), currency === 'JPY' ? 0 : 2));
