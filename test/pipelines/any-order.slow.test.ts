import { expect, test } from 'vitest';
import type { Database } from '../../src/core/duckdb/connection.js';
import type { Faults } from '../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { financesApis } from '../../src/sources/finances/finances-apis.js';
import { differing } from '../app/import/imported.js';
import { database, ran, serving, temporaryFolder } from '../app/lake-run.js';
import { setClock } from '../app/load/synced.js';
import { verified } from '../app/verify/verified.js';

const clock = setClock('2026-03-10T02:00:00Z');
const options = { account: 'shop', from: '2026-01-20' };

interface Loaded {
  readonly lake: string;
  readonly endpoint: string;
  readonly opened: Database;
}

/** A lake that all pipelines have loaded from a service with faults; `orders`: ids. */
async function loaded(faults: Faults | undefined, orders?: readonly string[]): Promise<Loaded> {
  const backend = createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend, clock, ...(faults && { faults }) });
  const lake = await temporaryFolder();
  await ran({ ...options, lake, endpoint, api: 'both' }, { clock });
  const pipelines = ['settlement-summaries', 'payouts', 'order-events', 'order-transactions'];
  const asked = { orders: orders ?? (await ordersIn(await database(lake, clock))) };
  await ran({ ...options, lake, endpoint, pipelines, ...asked }, { clock });
  return { lake, endpoint, opened: await database(lake, clock) };
}

async function ordersIn(opened: Database): Promise<readonly string[]> {
  const rows = await opened.rows(
    'SELECT DISTINCT amazon_order_id AS id FROM events WHERE amazon_order_id IS NOT NULL ORDER BY id LIMIT 5',
  );
  return rows.map(({ id }) => String(id));
}

/** Columns that depend on the order of receipt: events without a date take the instants around them. */
const byOrder = new Set(['position', 'effective_at']);

test.each(['newest-first', 'shuffled'] as const)('a service that lists %s gives the same lake', async (order) => {
  const usual = await loaded(undefined);
  const other = await loaded({ [order]: {} }, await ordersIn(usual.opened));
  const filled = financesApis.flatMap((api) => api.tables);
  for (const { name, columns } of filled) {
    const stable = columns.map((column) => column.name).filter((column) => !byOrder.has(column));
    const rows = async ({ opened }: Loaded, at: string): Promise<void> => {
      await opened.execute(`CREATE OR REPLACE TABLE stored_${name} AS SELECT ${stable.join(', ')} FROM ${name}`);
      await opened.execute(`COPY stored_${name} TO '${at}' (FORMAT parquet)`);
    };
    const folder = await temporaryFolder();
    await rows(usual, `${folder}/usual.parquet`);
    await rows(other, `${folder}/other.parquet`);
    const found = await differing(
      usual.opened,
      `SELECT * FROM '${folder}/usual.parquet'`,
      `SELECT * FROM '${folder}/other.parquet'`,
    );
    expect([name, ...found]).toEqual([name, 0, 0]);
    const [count] = await usual.opened.rows(`SELECT count(*) AS n FROM ${name}`);
    expect([name, Number(count?.['n']) > 0]).toEqual([name, true]);
  }
  const { code, checks } = await verified({ root: other.lake, clock });
  expect([code, checks.filter(({ result }) => result === 'failed')]).toEqual([0, []]);
  const again = await ran({ ...options, lake: other.lake, endpoint: other.endpoint, api: 'both' }, { clock });
  expect(Object.values(again.summary.pipelines).map(({ requests }) => requests)).toEqual([0, 0, 0, 0]);
});
