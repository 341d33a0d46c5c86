import { createHash } from 'node:crypto';
import type { Job, Slice } from '../run/pipeline.js';

/** A slice that reads several orders, one by one. */
export interface OrderSlice extends Slice {
  readonly orders: readonly string[];
}

const prefix = 'order/';

/** The job's orders that the lake lacks, in batches; to refresh, all of them. */
export function orderSlices(job: Job, pipeline: string, table: string, batch: number): OrderSlice[] {
  const loaded = job.lake.units(pipeline, table, job.account);
  const wanted = [...new Set(job.orders)].filter((order) => job.refresh || !loaded.has(prefix + order));
  const slices: OrderSlice[] = [];
  for (let at = 0; at < wanted.length; at += batch) slices.push(orderSlice(wanted.slice(at, at + batch)));
  return slices;
}

function orderSlice(orders: readonly string[]): OrderSlice {
  const [first = ''] = orders;
  const hash = createHash('sha256').update(orders.join('\n')).digest('hex').slice(0, 16);
  return {
    orders,
    name: `orders-${hash}`,
    label: orders.length === 1 ? `order ${first}` : `${orders.length} orders from ${first}`,
    units: orders.map((order) => prefix + order),
  };
}
