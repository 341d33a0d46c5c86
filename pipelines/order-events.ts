import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { orderWork, type OrderSlice } from '../src/sources/finances/api-v0/slicing/order-slicing';
import { firstMonth, orderPages } from '../src/sources/finances/api-v0/sources.js';
import { orderEntries, orderEvents } from '../src/sources/finances/model/tables.js';
import type { FinancesUpstream } from '../src/sources/finances/api-v0/upstream.js';
import type { Pipeline } from '../src/engine/run/pipeline.js';

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
