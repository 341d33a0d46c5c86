import { shortHash } from '../../core/short-hash.js';
import { loadKeyFor } from '../../lake/catalog/load-key.js';
import { equalParts } from '../run/concurrency-plan.js';
import type { Expectation, Job, Slicing } from '../run/pipeline.js';
import { type Slice, pageSize, type SliceQueue } from '../run/slice-queue.js';

/** A slice that reads several orders, one by one. */
export interface OrderSlice extends Slice {
  readonly orders: readonly string[];
}

interface OrderSlicingOptions {
  readonly pipeline: string;
  readonly table: string;
  /** Maximum of orders in a commit: a file for each order would give thousands of tiny files. */
  readonly batch: number;
}

/** Slices that are batches of orders, read one by one. A sync reads all requested orders. */
export function orderSlicing({ pipeline, table, batch }: OrderSlicingOptions): Slicing<OrderSlice> {
  const sliceQueue = (job: Job) => orderQueue(job, pipeline, batch);
  return {
    loadKeyKind: 'order',
    sliceQueue,
    forecast: ({ job }) => {
      const { lake, account } = job;
      const files = lake.snapshot.filesOf(table, account, pipeline);
      const events = files.reduce((sum, { rows }) => sum + rows, 0);
      const count = lake.snapshot.keysOf(account, pipeline).size;
      return {
        queue: sliceQueue(job),
        expectation: orderExpectation(count === 0 ? undefined : events / count),
        loaded: { count, days: null, results: events },
        unlisted: 0,
        isComplete: true,
      };
    },
  };
}

/** The expectation for orders, which are read one by one. `perOrder`: events; undefined: unknown. */
export function orderExpectation(perOrder: number | undefined): Expectation<OrderSlice> {
  const pages = Math.max(1, Math.ceil((perOrder ?? 0) / pageSize));
  return {
    results: ({ orders }) => perOrder && orders.length * perOrder,
    pages: ({ orders }) => orders.length * pages,
  };
}

/** The job's orders that the lake lacks, in batches of at most `batch`; to refresh, all of them. */
function orderQueue(job: Job, pipeline: string, batch: number): SliceQueue<OrderSlice> {
  const loaded = job.lake.snapshot.keysOf(job.account, pipeline);
  const waiting = [...new Set(job.orders)].filter(
    (order) => job.refresh === true || !loaded.has(loadKeyFor('order', order)),
  );
  const halves: OrderSlice[] = [];
  return {
    get left() {
      const count = waiting.length + halves.reduce((sum, { orders }) => sum + orders.length, 0);
      return count === 0 ? '' : `${count} order${count === 1 ? '' : 's'}`;
    },
    // Most orders have one page.
    stretches: () => [
      ...halves.map(({ orders }) => ({ pages: orders.length, isCuttable: false })),
      ...(waiting.length === 0 ? [] : [{ pages: waiting.length, isCuttable: true }]),
    ],
    next: (pages) => {
      const half = halves.shift();
      if (half !== undefined) return half;
      const count = Math.ceil(waiting.length / equalParts(waiting.length, Math.min(pages, batch)).length);
      return waiting.length === 0 ? undefined : orderSlice(waiting.splice(0, count));
    },
    expected: ({ orders }) => orders.length,
    learn: () => undefined,
    split: ({ orders }) => {
      if (orders.length === 1) return false;
      const middle = Math.ceil(orders.length / 2);
      halves.push(orderSlice(orders.slice(0, middle)), orderSlice(orders.slice(middle)));
      return true;
    },
  };
}

function orderSlice(orders: readonly string[]): OrderSlice {
  const [first = ''] = orders;
  return {
    orders,
    name: `orders-${shortHash(orders.join('\n'))}`,
    label: orders.length === 1 ? `order ${first}` : `${orders.length} orders from ${first}`,
    loadKeys: orders.map((order) => loadKeyFor('order', order)),
  };
}
