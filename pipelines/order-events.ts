import { eventCollector, type EventsPage } from '../src/finances/collectors.js';
import { orderWork, type OrderSlice } from '../src/finances/order-slices.js';
import { firstMonth, orderPages } from '../src/finances/sources.js';
import { orderEntries, orderEvents } from '../src/finances/tables.js';
import type { FinancesUpstream } from '../src/finances/upstream.js';
import type { Pipeline } from '../src/run/pipeline.js';

const name = 'order-events';
/** Orders a commit: a file for each order would be thousands of tiny files. */
const batch = 100;

/** Events order by order, for the ids of `--orders` (specification, section 4.4). */
export const orderEventsPipeline: Pipeline<FinancesUpstream, OrderSlice, EventsPage> = {
  name,
  about: 'financial events of each order named by --orders',
  tables: [orderEntries, orderEvents],
  work: (job) => orderWork(job, name, orderEvents.name, batch),
  pace: (upstream) => upstream.pace('ListFinancialEventsByOrderId'),
  pages: ({ orders }, reading) => orderPages(orders, reading),
  collect: () => eventCollector({ events: orderEvents, entries: orderEntries }, (_source, dates) => firstMonth(dates)),
};
