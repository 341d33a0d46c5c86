import { eventCollector } from '../src/sources/finances/api-v0/collectors.js';
import { orderSlicing } from '../src/engine/slicing/order-slicing.js';
import { orderPages } from '../src/sources/finances/model/subject-pages.js';
import { firstMonth } from '../src/sources/finances/model/slice-rows.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';
import { orderEntries, orderEvents } from '../src/sources/finances/api-v0/event-tables.js';

const operation = 'ListFinancialEventsByOrderId';

/** Events of each order in `--orders` (specification, section 4.4). */
export const orderEventsPipeline = financesPipeline({
  name: 'order-events',
  about: 'financial events of each order named by --orders',
  operation,
  main: orderEvents,
  derived: [orderEntries],
  slicing: (of) => orderSlicing({ ...of, batch: 100 }),
  pages: ({ orders }, reading) =>
    orderPages(orders, (orderId) => reading.upstream.v0.pages({ operation, parameters: { orderId } }, reading)),
  collect: () => eventCollector({ events: orderEvents, entries: orderEntries }, (_subject, dates) => firstMonth(dates)),
});
