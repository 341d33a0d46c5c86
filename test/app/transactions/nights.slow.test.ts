import { expect, onTestFinished, test } from 'vitest';
import { withTransactions } from '../../serve/http/array-backend.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { lakeTables, openLakeReader } from '../../../src/app/query/lake-files.js';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock, synced } from '../load/synced.js';

const dayMs = 86_400_000;
/** Set, it is measured with so many sales deferred. */
const deferred = process.env['LEDGERLAKE_TEST_DEFERRED'];

/** Nights, and events in 90 days of which about one in thirty is deferred at any time. */
const sellers: readonly (readonly [number, number])[] =
  deferred === undefined
    ? [
        [8, 3000],
        [3, 17_000],
      ]
    : [[Number(process.env['LEDGERLAKE_TEST_NIGHTS'] ?? 60), 30 * Number(deferred)]];

/** A seller whose transactions have no amounts but their total: a twentieth of the entries. */
function withTotalsOnly(seller: Seller): Backend {
  const { byTransaction } = seller;
  if (byTransaction === undefined) return seller;
  return {
    groups: (range, query) => seller.groups(range, query),
    events: (range, query) => seller.events(range, query),
    eventsOfGroup: (id, query) => seller.eventsOfGroup(id, query),
    eventsOfOrder: (id, query) => seller.eventsOfOrder(id, query),
    byTransaction: withTransactions(byTransaction, async (question, query) => {
      const { items, next } = await byTransaction.transactions(question, query);
      const totals = items.map(({ list, json }) => ({
        list,
        json: JSON.stringify({ ...(JSON.parse(json) as object), items: [], breakdowns: [] }),
      }));
      return { items: totals, next };
    }),
  };
}

test.each(sellers)(
  '%d nights over sales of %d events end with the lake of a fresh backfill, and ask for little',
  async (nights, events) => {
    const begin = Date.parse('2026-03-01T02:00:00Z');
    const clock = setClock(new Date(begin).toISOString());
    // Its history goes back behind what is loaded in all nights.
    const days = 90 + nights;
    const seller = createSeller(
      { seed: 3, events: Math.round((events * days) / 90), days, profile: 'plausible' },
      clock,
    );
    const endpoint = await serving({ backend: deferred === undefined ? seller : withTotalsOnly(seller), clock });
    const lake = await temporaryFolder();
    const given = { lake, endpoint, account: 'shop', api: '2024-06-19' as const };
    const from = '2026-01-20';
    await ran({ ...given, from }, { clock });

    let changed = 0;
    const requests: number[] = [];
    for (let night = 1; night <= nights; night++) {
      clock.set(begin + night * dayMs);
      // Two days are what the service itself says may be incomplete.
      const { summary, failure } = await synced({ ...given, lookBack: 2 }, { clock });
      expect(failure).toBeUndefined();
      requests.push(summary.pipelines['transactions']?.['requests'] ?? 0);
      changed += (summary.changes['transactions']?.vanished ?? 0) + (summary.changes['transactions']?.released ?? 0);
    }
    expect(changed).toBeGreaterThan(nights);

    const fresh = await temporaryFolder();
    await ran({ ...given, lake: fresh, from }, { clock });
    const database = await openDatabase();
    onTestFinished(() => {
      database.close();
    });
    const read = async (from: string, name: string) => {
      await createViews(database, lakeTables, await (await openLakeReader(from, clock)).lakeFiles());
      await database.execute(
        `CREATE OR REPLACE TABLE ${name} AS SELECT raw, status, event_id, posted_at FROM transactions`,
      );
      await database.execute(
        `CREATE OR REPLACE TABLE ${name}_entries AS SELECT event_id, entry, role, amount FROM transaction_entries`,
      );
    };
    await read(fresh, 'fresh');
    await read(lake, 'nightly');
    for (const suffix of ['', '_entries']) {
      const [row] = await database.rows(
        `SELECT (SELECT count(*) FROM (FROM nightly${suffix} EXCEPT ALL FROM fresh${suffix})) AS wrong, ` +
          `(SELECT count(*) FROM (FROM fresh${suffix} EXCEPT ALL FROM nightly${suffix})) AS missing, ` +
          `(SELECT count(*) FROM fresh${suffix}) AS rows`,
      );
      expect([Number(row?.['wrong']), Number(row?.['missing'])]).toEqual([0, 0]);
      expect(Number(row?.['rows'])).toBeGreaterThan(2000);
    }

    // What was released stands in the history as it was: deferred.
    const [history] = await database.rows(
      'SELECT count(*) AS gone, count(*) FILTER (raw LIKE \'%"DEFERRED"%\') AS deferred FROM event_history ' +
        "WHERE source = 'transactions' AND change = 'vanished'",
    );
    expect(Number(history?.['gone'])).toBe(changed);
    expect(Number(history?.['deferred'])).toBe(changed);
    const [again] = await database.rows(
      'SELECT sum(pages) AS pages, count(*) AS days FROM (SELECT ceil(count(*) / 500) AS pages FROM ' +
        "fresh WHERE posted_at >= (SELECT max(posted_at) FROM fresh) - INTERVAL 35 DAY GROUP BY date_trunc('day', posted_at))",
    );
    const mean = requests.reduce((sum, count) => sum + count, 0) / nights;
    console.log(
      `requests a night ${requests.join(' ')}, on average ${mean.toFixed(1)}; 35 days again: ${String(again?.['pages'])}`,
    );
    expect(mean).toBeLessThan(Number(again?.['pages']) / 3);
  },
  3_600_000,
);
