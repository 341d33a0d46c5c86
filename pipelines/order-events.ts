import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { orderSlicing, type OrderSlice } from '../src/engine/slicing/order-slicing.js';
import { orderPages } from '../src/sources/finances/model/source-pages.js';
import { firstMonth } from '../src/sources/finances/model/slice-rows.js';
import { eventLimits } from '../src/sources/finances/api-v0/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { eventDerivation } from '../src/sources/finances/api-v0/event-derivation.js';
import { orderEntries, orderEvents } from '../src/sources/finances/api-v0/event-tables.js';

const name = 'order-events';
const operation = 'ListFinancialEventsByOrderId';

/** Events of each order in `--orders` (specification, section 4.4). */
export const orderEventsPipeline: FinancesPipeline<OrderSlice, EventsPage> = {
  name,
  about: 'financial events of each order named by --orders',
  operation,
  burst: eventLimits.burst,
  main: orderEvents,
  derived: [orderEntries],
  derivation: eventDerivation,
  ...orderSlicing({ pipeline: name, table: orderEvents.name, batch: 100 }),
  pace: (upstream) => upstream.v0.pace(operation),
  pages: ({ orders }, reading) =>
    orderPages(orders, (orderId) => reading.upstream.v0.pages({ operation, parameters: { orderId } }, reading)),
  collect: () => eventCollector({ events: orderEvents, entries: orderEntries }, (_source, dates) => firstMonth(dates)),
};
