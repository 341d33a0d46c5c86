import { createServer } from 'node:http';
import { expect } from 'vitest';
import type { Ended } from '../app/built-command.js';
import { listening } from '../listening.js';

/** A text that clears the screen, sets the title, forges a line, hides and turns what follows, and ends C strings. */
export function hostile(name: string): string {
  return `${name}\0\u001b]0;title\u0007\u001b[2J\r\nledgerlake: FORGED\u009b31m\u202eturned\u200b\u2028'"<wbr>&\ud800`;
}

/** What must not be in an output for people, but for line feeds. */
export const unsafe = /(?!\n)[\p{Control}\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

/** Whether a line of an output begins with what a text from outside has behind a line break; DuckDB's further lines are indented. */
export function isForged(output: string): boolean {
  return output.split(/[\n\r\u0085\u2028\u2029]/).some((line) => /^(?:ledgerlake: )?FORGED/.test(line));
}

/**
 * The answers of a service in which every text is `text(what)`.
 *
 * @param amount of the sale, so that an answer can differ from the one before
 */
export function hostileAnswers(text: (what: string) => string, amount = 5): (path: string) => unknown {
  const money = (value: number) => ({ CurrencyCode: 'USD', CurrencyAmount: value });
  const events = {
    ShipmentEventList: [
      {
        AmazonOrderId: text('order'),
        SellerOrderId: text('seller order'),
        MarketplaceName: text('marketplace'),
        PostedDate: '2025-01-03T00:00:00Z',
        ShipmentItemList: [
          {
            SellerSKU: text('sku'),
            OrderItemId: text('item'),
            QuantityShipped: 1,
            ItemChargeList: [
              { ChargeType: text('charge'), ChargeAmount: money(amount) },
              { ChargeType: 'Tax', ChargeAmount: { CurrencyCode: text('currency'), CurrencyAmount: 1 } },
            ],
            ItemFeeList: [{ FeeType: text('fee'), FeeAmount: money(-6.5) }],
          },
        ],
      },
    ],
    ServiceFeeEventList: [
      { FeeReason: text('reason'), FeeList: [{ FeeType: text('service fee'), FeeAmount: money(-1) }] },
    ],
    [text('List')]: [{ PostedDate: '2025-01-03T01:00:00Z', [text('Key')]: money(1) }],
  };
  const groups = [
    {
      FinancialEventGroupId: text('settlement'),
      ProcessingStatus: 'Closed',
      FundTransferStatus: text('status'),
      OriginalTotal: money(7),
      TraceId: text('trace'),
      AccountTail: text('tail'),
      FinancialEventGroupStart: '2025-01-02T00:00:00Z',
      FinancialEventGroupEnd: '2025-01-04T00:00:00Z',
    },
  ];
  return (path) =>
    /financialEventGroups\/?(?:\?|$)/.test(path)
      ? { payload: { FinancialEventGroupList: groups } }
      : { payload: { FinancialEvents: events } };
}

/** Serves answers for the test that runs; its address. */
export async function answering(answer: (path: string) => { status?: number; body: unknown }): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, body } = answer(request.url ?? '');
    response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-RateLimit-Limit': '1000' });
    response.end(JSON.stringify(body));
  });
  return listening(server);
}

/** Fails where an output of a command could steer a terminal, has a forged line or a stack trace. */
export function expectHarmless({ out, err }: Pick<Ended, 'out' | 'err'>, what: string): void {
  for (const output of [out, err]) {
    expect([what, unsafe.exec(output)?.[0]]).toEqual([what, undefined]);
    expect([what, isForged(output)]).toEqual([what, false]);
    expect([what, /^ {4}at /m.test(output)]).toEqual([what, false]);
  }
}
