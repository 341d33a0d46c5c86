import { expect, test } from 'vitest';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { dayMs } from '../../../src/core/windows.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { hash, seedKey } from '../../../src/emulator/profiles/seeded-random.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { reported } from '../report/reported-lake.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');
const seller = createSeller({ seed: 5, events: 3000, profile: 'plausible' }, clock);

interface Deferred {
  readonly postedDate: string;
  readonly totalAmount: { readonly currencyCode: string; readonly currencyAmount: number };
}

/** What the seller's own books have as deferred at an instant: transactions and their sum in cents, by currency. */
async function deferredAt(backend: Backend, instant: number): Promise<Map<string, readonly [number, number]>> {
  const sums = new Map<string, readonly [number, number]>();
  const question = { status: 'DEFERRED', marketplaceId: undefined, orderId: undefined, groupId: undefined };
  // What happens in the instant itself is after it.
  const asOf = instant - 1;
  let cursor: string | undefined;
  do {
    const range = { start: instant - 60 * dayMs, end: instant };
    const page = await backend.byTransaction?.transactions({ range, ...question }, { cursor, limit: 500, asOf });
    for (const { json } of page?.items ?? []) {
      const { currencyCode, currencyAmount } = (JSON.parse(json) as Deferred).totalAmount;
      const [count, sum] = sums.get(currencyCode) ?? [0, 0];
      sums.set(currencyCode, [count + 1, sum + Math.round(currencyAmount * 100)]);
    }
    cursor = page?.next;
  } while (cursor !== undefined);
  return sums;
}

async function loaded(from: string, to?: string): Promise<string> {
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', pipelines: ['transactions'], from, to }, { clock });
  return lake;
}

test('what is outstanding at an instant is what the seller had as deferred then, from the first loaded instant on', async () => {
  const [first, last] = [Date.parse('2026-01-01'), Date.parse('2026-03-10T01:00:00Z')];
  const views = await database(await loaded('2026-01-01'), clock);
  const instants = [
    first,
    first + 1000,
    Date.parse('2026-02-01'),
    last,
    ...Array.from({ length: 26 }, (_, at) => {
      // Half of them in the first ten days, where most sales were deferred before the lake begins.
      const span = at < 13 ? 10 * dayMs : last - first;
      return first + Math.floor(((hash(seedKey(7), at, 1) / 2 ** 32) * span) / 1000) * 1000;
    }),
  ];
  let ofBefore = 0;
  for (const instant of instants) {
    const at = new Date(instant).toISOString();
    const rows = await views.rows(
      'SELECT currency, count(*)::INTEGER AS times, round(sum(total_amount) * 100)::INTEGER AS cents, ' +
        `count(*) FILTER (earned_at IS NULL)::INTEGER AS before FROM outstanding_at('${at}') GROUP BY ALL`,
    );
    const found = new Map(rows.map(({ currency, times, cents }) => [String(currency), [times, cents]]));
    expect([at, found]).toEqual([at, await deferredAt(seller, instant)]);
    ofBefore += rows.reduce((sum, { before }) => sum + Number(before), 0);
  }
  expect(ofBefore).toBeGreaterThan(100);
  const early = await views.rows("SELECT count(*)::INTEGER AS times FROM outstanding_at('2025-12-31T23:59:59Z')");
  expect(early).toEqual([{ times: 0 }]);
});

test('a past that was loaded later has the releases after it left out, not the sales', async () => {
  const root = await loaded('2025-12-01', '2026-02-01');
  const views = await database(root, clock);
  const rows = await views.rows(
    'SELECT currency, count(*)::INTEGER AS times, round(sum(total_amount) * 100)::INTEGER AS cents, count(paid_at)::INTEGER AS paid ' +
      "FROM outstanding_at('2026-02-01') GROUP BY ALL",
  );
  const deferred = await deferredAt(seller, Date.parse('2026-02-01'));
  expect(new Map(rows.map(({ currency, times, cents }) => [String(currency), [times, cents]]))).toEqual(deferred);
  expect(rows.map(({ paid }) => paid)).toEqual(rows.map(() => 0));

  // The report has the same, though most of these sales had the status DEFERRED_RELEASED when they were read.
  const [released] = await views.rows(
    "SELECT count(*)::INTEGER AS times FROM outstanding_at(now()) JOIN transactions USING (transaction_id) WHERE status = 'DEFERRED_RELEASED'",
  );
  expect(released?.['times']).toBeGreaterThan(10);
  for (const to of [undefined, '2026-01-20']) {
    const { page } = await reported({ root, clock }, { to });
    const lines = page.texts('.deferred li').map((line) => {
      const [, amount = '', currency = '', count = ''] =
        /^Deferred: (\S+) (\S+) of (\S+) transactions? is not paid/.exec(line) ?? [];
      const [total = 0, times = 0] = [amount, count].map((text) => Number(text.replaceAll(',', '')));
      return [currency, [times, Math.round(total * 100)]] as const;
    });
    expect(new Map(lines)).toEqual(await deferredAt(seller, Date.parse(to ?? '2026-02-01')));
  }
});

test('an instant that the loaded transactions do not answer for is told of', async () => {
  const lake = await loaded('2026-01-01');
  const { notesOn } = await openLakeReader(lake, clock);
  const outstanding = (instant: string) => notesOn(`SELECT sum(total_amount) FROM outstanding_at(${instant})`);
  expect(outstanding("'2026-01-01'")).toEqual([]);
  expect(outstanding("TIMESTAMPTZ '2026-03-01 00:00:00+00'")).toEqual([]);
  expect(notesOn("SELECT 'outstanding_at(''2025-01-01'')'")).toEqual([]);
  expect(outstanding("'2025-12-01'")).toEqual([
    'WARNING: outstanding_at: transactions of shop are loaded from 2026-01-01 on, after 2025-12-01, so there are no rows: ' +
      '`ledgerlake backfill transactions --account shop --from 2025-12-01 --to 2026-01-01` loads what is missing',
  ]);
  // The seller's history begins later: what is loaded is empty.
  const early = await loaded('2025-01-01', '2026-01-08');
  expect((await openLakeReader(early, clock)).notesOn("FROM outstanding_at('2025-01-02')")).toEqual([
    expect.stringMatching(
      /^WARNING: outstanding_at: shop has no transactions before 2025-\d\d-\d\d, so there are no rows for 2025-01-02$/,
    ),
  ]);
  expect(outstanding("'2026-04-01'")[0]).toMatch(
    /are loaded until 2026-03-10T01:5\d:\d\dZ, so what is paid after that/,
  );
  expect(outstanding('now()')).toEqual([]);

  const endpoint = await serving({ backend: seller, clock });
  const parts = await loaded('2026-01-01', '2026-01-08');
  expect((await openLakeReader(parts, clock)).notesOn("FROM outstanding_at('2026-01-05')")[0]).toMatch(
    /from 2026-01-01 on, until 2026-01-08: a sale that was deferred before and is paid after that is not in the lake/,
  );
  const later = { pipelines: ['transactions'], from: '2026-01-20', to: '2026-02-01' };
  await ran({ lake: parts, endpoint, account: 'shop', ...later }, { clock });
  expect((await openLakeReader(parts, clock)).notesOn("FROM outstanding_at('2026-01-05')")[0]).toMatch(
    /lack 2026-01-08 to 2026-01-20, so sales and releases are missing: `.* --from 2026-01-08 --to 2026-01-20` loads them/,
  );
});
