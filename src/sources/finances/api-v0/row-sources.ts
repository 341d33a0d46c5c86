import { LedgerlakeError } from '../../../core/errors.js';
import type { Reading } from '../../../engine/run/pipeline.js';
import { type Window, monthOf } from '../../../core/windows.js';
import type { EventsPage } from './collectors.js';
import type { GroupSlice } from './group-slices.js';
import { scanPage, type ScannedPage } from './finances-page.js';
import type { RowSource } from '../model/slice-rows.js';
import type { FinancesUpstream } from './finances-api.js';

/** Events of a window of dates. */
export function windowSource({ start, end }: Window): RowSource {
  return {
    windowStart: start,
    windowEnd: end,
    fallback: start,
    clamp: true,
    groupId: undefined,
    requestedOrderId: undefined,
  };
}

/** Events of a settlement, whose start and end are the window. */
export function groupSource({ group, opened }: GroupSlice): RowSource {
  return {
    windowStart: group.start ?? undefined,
    windowEnd: group.end ?? undefined,
    fallback: opened,
    clamp: false,
    groupId: group.id,
    requestedOrderId: undefined,
  };
}

/** Events of an order, which has no window. */
function orderSource(order: string): RowSource {
  return {
    windowStart: undefined,
    windowEnd: undefined,
    fallback: undefined,
    clamp: false,
    groupId: undefined,
    requestedOrderId: order,
  };
}

/** Pages with what they answer. */
export async function* answering(source: RowSource, pages: AsyncIterable<ScannedPage>): AsyncGenerator<EventsPage> {
  for await (const page of pages) yield { page, source };
}

/** Pages behind one that is held already, where there is one: its body. */
export async function* heldAndRead(
  held: (() => Promise<Uint8Array>) | undefined,
  pages: AsyncIterable<ScannedPage>,
): AsyncGenerator<ScannedPage> {
  if (held !== undefined) yield scanPage(await held());
  yield* pages;
}

/** The pages of several orders, one order after the other. */
export async function* orderPages(
  orders: readonly string[],
  reading: Reading<FinancesUpstream>,
): AsyncGenerator<EventsPage> {
  for (const orderId of orders) {
    const source = orderSource(orderId);
    try {
      yield* answering(source, reading.upstream.pages('ListFinancialEventsByOrderId', { orderId }, reading));
    } catch (error) {
      // One id that the service doesn't know, mistyped perhaps, is no reason to leave out the others.
      if (!(error instanceof LedgerlakeError) || error.status !== 404) throw error;
      yield { page: undefined, source };
    }
  }
}

/** The month of the first of an order's dates, in microseconds since 1970; `unknown` where there is none. */
export function firstMonth(dates: readonly bigint[]): string {
  const [first] = dates.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return first === undefined ? 'unknown' : monthOf(Number(first / 1000n));
}
