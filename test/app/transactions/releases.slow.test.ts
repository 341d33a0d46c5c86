import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock, synced } from '../load/synced.js';

// Whole nights over real sockets, on machines that have others to do.
const dayMs = 86_400_000;
const begin = Date.parse('2026-03-01T02:00:00Z');
const nights = 2;

interface Transaction {
  readonly totalAmount: { readonly currencyCode: string; readonly currencyAmount: number };
}

test.each<[string, Faults, number, string]>([
  ['released before they are due', { 'early-release': { share: 0.5 } }, 1200, '2026-02-01'],
  ['withdrawn before they are due', { withdrawn: { share: 0.3 } }, 1200, '2026-02-01'],
  ['both', { 'early-release': { share: 0.5 }, withdrawn: { share: 0.3 } }, 1200, '2026-02-01'],
  // More than a page of them.
  ['many and released before they are due', { 'early-release': { share: 0.5 } }, 20_000, '2026-02-18'],
])(
  'deferred sales that are %s: after each night the lake has what the service has',
  async (_what, faults, events, from) => {
    const clock = setClock(new Date(begin).toISOString());
    const seller = createSeller({ seed: 3, events, days: 90 + nights, profile: 'plausible' }, clock);
    const endpoint = await serving({ backend: seller, clock, faults });
    const given = { endpoint, account: 'shop', pipelines: ['transactions'] };
    const lake = await temporaryFolder();
    await ran({ ...given, lake, from }, { clock });
    const read = async (folder: string, sql: string) => {
      const rows = await (await database(folder, clock, sql)).rows(sql);
      return rows.map(({ text }) => String(text));
    };
    const held = (folder: string) =>
      read(folder, "SELECT status || ' ' || raw AS text FROM transactions ORDER BY text");

    for (let night = 1; night <= nights; night++) {
      const before = await held(lake);
      clock.set(begin + night * dayMs);
      const { failure } = await synced({ ...given, lake, lookBack: 2 }, { clock });
      expect(failure).toBeUndefined();
      const fresh = await temporaryFolder();
      await ran({ ...given, lake: fresh, from }, { clock });
      const now = await held(lake);
      expect(now).toEqual(await held(fresh));
      // What was there the night before and is so no longer stands in the history, once, as it was.
      const gone = before.filter((text) => !now.includes(text));
      expect(gone.length).toBeGreaterThan(2);
      const history = await read(
        lake,
        "SELECT 'DEFERRED ' || raw AS text FROM event_history WHERE source = 'transactions' AND change = 'vanished' " +
          `AND seen_at = '${new Date(clock.now()).toISOString()}' ORDER BY text`,
      );
      expect(history).toEqual(gone.toSorted());
    }

    // Each change has its amount, whether the lake has the transaction or the history alone.
    const views = await database(lake, clock);
    const changes = await views.rows(
      'SELECT coalesce(history.raw, stored.raw) AS raw, changed.currency, net::VARCHAR AS net FROM event_history AS history ' +
        'LEFT JOIN transactions AS stored USING (account, event_id) LEFT JOIN changed_amounts AS changed USING (account, source, event_id)',
    );
    expect(changes.length).toBeGreaterThan(nights * 2);
    for (const { raw, ...found } of changes) {
      const { totalAmount } = JSON.parse(String(raw)) as Transaction;
      expect(found).toEqual({ currency: totalAmount.currencyCode, net: totalAmount.currencyAmount.toFixed(6) });
    }
  },
);
