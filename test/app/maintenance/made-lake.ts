import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/core/clock.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { loaded, sellerServer } from './kept-lake.js';

/** A lake with all of the pipelines loaded, for the tests of one file to copy, and the service that it came from. */
export interface MadeLake {
  readonly lake: string;
  readonly endpoint: string;
  /** Orders that it holds by order. */
  readonly orders: readonly string[];
  remove(): Promise<void>;
}

/** `orders`: how many are read by order. */
export async function makeLake(clock: Clock, { events = 300, orders = 60 } = {}): Promise<MadeLake> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-made-'));
  const lake = join(folder, 'lake');
  const server = await sellerServer(clock, events);
  await loaded(lake, server.endpoint, clock, { api: 'both' });
  await loaded(lake, server.endpoint, clock, { pipelines: ['settlement-summaries', 'payouts'] });
  const files = (await Lake.open(openStore(lake), tables, clock)).fileAddresses().get('events') ?? [];
  const database = await openDatabase();
  const list = files.map((file) => `'${file}'`).join(', ');
  const found = await database.rows(
    `SELECT DISTINCT amazon_order_id AS id FROM read_parquet([${list}]) WHERE amazon_order_id LIKE '___-%' ORDER BY 1 LIMIT ${orders}`,
  );
  database.close();
  const ids = found.map(({ id }) => String(id));
  // In several batches, as an order's month isn't known before it is read.
  for (let at = 0; at < ids.length; at += 20) {
    const orders = ids.slice(at, at + 20);
    await loaded(lake, server.endpoint, clock, { pipelines: ['order-events', 'order-transactions'], orders });
  }
  return {
    lake,
    endpoint: server.endpoint,
    orders: ids,
    remove: async () => {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}
