import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Lake } from '../../../src/lake/lake.js';
import type { Window } from '../../../src/core/windows.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { LakeModel, type SoldEvent } from './lake-model.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { failingStore } from '../maintenance/failing-store.js';
import { compacted, copied } from '../maintenance/kept-lake.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');
const start = Date.UTC(2025, 1, 27);
const hourMs = 3_600_000;
const days = 6;

/** What has no date of its own, and the hour since 27 February at which it happened. */
interface Fee {
  readonly hour: number;
  readonly kind: number;
}

function feeItem({ hour, kind }: Fee): DatedItem {
  const json = `{"FeeReason":"kind ${kind}","FeeList":[{"FeeType":"Subscription","FeeAmount":{"CurrencyCode":"USD","CurrencyAmount":-123.45}}]}`;
  return { at: start + hour * hourMs, list: 'ServiceFeeEventList', json };
}

const isoAt = (hour: number) => new Date(start + hour * hourMs).toISOString();
/** One each three hours: no window is empty. */
const shipments = Array.from({ length: days * 8 }, (_, at) =>
  shipment(isoAt(at * 3), `111-0000000-${String(at).padStart(7, '0')}`),
);

async function lakeOf(fees: readonly Fee[], size: number) {
  const lake = { root: await temporaryFolder(), clock };
  const items = [...shipments, ...fees.map(feeItem)].toSorted((one, other) => one.at - other.at);
  const pages = Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, at * size + size),
  );
  await imported(lake, [await fileOf(pages.map((page) => eventsBody(page)))], { account: 'shop' });
  return lake;
}

async function endpointOf(fees: readonly Fee[]): Promise<string> {
  return serving({ backend: arrayBackend([...shipments, ...fees.map(feeItem)]), clock });
}

interface Backfill {
  readonly refresh?: boolean;
  readonly store?: Store;
}

async function backfilled(
  root: string,
  endpoint: string,
  from: number,
  to: number,
  { refresh = false, ...place }: Backfill = {},
): Promise<void> {
  const range = { from: isoAt(from), to: isoAt(to), refresh };
  await ran({ pipelines: ['financial-events'], lake: root, account: 'shop', endpoint, ...range, ...place }, { clock });
}

/** How many fees of each kind a lake has, by amounts too. */
async function expectFees(lake: { root: string; clock: typeof clock }, expected: ReadonlyMap<number, number>) {
  const opened = await database(lake.root, clock);
  const rows = await opened.rows(
    'SELECT raw, count(*) AS fees, sum(amount) AS amount FROM events LEFT JOIN entries USING (event_id, effective_at) ' +
      'WHERE events.posted_at IS NULL GROUP BY raw ORDER BY raw',
  );
  const wanted = [...expected].filter(([, fees]) => fees > 0).toSorted(([one], [other]) => one - other);
  expect(rows).toEqual(
    wanted.map(([kind, fees]) => ({
      raw: feeItem({ hour: 0, kind }).json,
      fees: BigInt(fees),
      amount: (-123.45 * fees).toFixed(6),
    })),
  );
  const [dated] = await opened.rows('SELECT count(*) AS dated FROM events WHERE posted_at IS NOT NULL');
  expect(dated).toEqual({ dated: BigInt(shipments.length) });
  const doubled = await opened.rows('SELECT event_id FROM events GROUP BY ALL HAVING count(*) > 1');
  expect(doubled).toEqual([]);
  expect(found(await verified(lake))).toEqual([]);
}

test.each([
  ['before the window that has it', 60, 30, 2, 4],
  ['into a window that lacks it', 60, 30, 0, 2],
  ['into a part of its day that lacks it', 40, 10, 1.25, 1.5],
  ['into a window that has it', 60, 30, 0, 3],
])('a fee that an import has placed %s is neither lost nor doubled', async (_, hour, size, from, to) => {
  const fees = [{ hour, kind: 1 }];
  const lake = await lakeOf(fees, size);
  const endpoint = await endpointOf(fees);
  await expectFees(lake, new Map([[1, 1]]));
  await backfilled(lake.root, endpoint, from * 24, to * 24);
  await expectFees(lake, new Map([[1, 1]]));
  await backfilled(lake.root, endpoint, from * 24, to * 24, { refresh: true });
  await expectFees(lake, new Map([[1, 1]]));
  await compacted({ lake: lake.root, account: undefined }, { clock });
  await backfilled(lake.root, endpoint, 0, days * 24);
  await expectFees(lake, new Map([[1, 1]]));
});

test('of equal fees those that stay beside a window that begins with their day have ids of their own', async () => {
  const both = [141, 3, 73].map((hour) => ({ hour, kind: 2 }));
  const lake = await lakeOf([...both, { hour: 116, kind: 2 }], 24);
  const endpoint = await endpointOf([...both, { hour: 61, kind: 2 }]);
  // The month begins within it, and with it a window.
  await backfilled(lake.root, endpoint, 12, 66, { refresh: true });
  await expectFees(lake, new Map([[2, 4]]));
  await backfilled(lake.root, endpoint, 12, 66, { refresh: true });
  await expectFees(lake, new Map([[2, 4]]));
  await compacted({ lake: lake.root, account: undefined }, { clock });
  await backfilled(lake.root, endpoint, 0, days * 24);
  await expectFees(lake, new Map([[2, 4]]));
});

test('an equal fee of a window that goes on beyond the days of an import counts as the imported one, until these are loaded', async () => {
  const lake = { root: await temporaryFolder(), clock };
  const first = { hour: 5, kind: 1 };
  const days = shipments.filter(({ at }) => at < start + 3 * 24 * hourMs);
  const body = eventsBody([...days, feeItem(first)].toSorted((one, other) => one.at - other.at));
  const file = await fileOf([body]);
  await imported(lake, [file], { account: 'shop' });
  const endpoint = await endpointOf([first, { hour: 4 * 24, kind: 1 }]);
  const fees = async () =>
    (await (await database(lake.root, clock)).rows('SELECT count(*) AS fees FROM events WHERE posted_at IS NULL'))[0];
  await backfilled(lake.root, endpoint, 2 * 24, 5 * 24);
  expect(await fees()).toEqual({ fees: 1n });
  await imported(lake, [file], { account: 'shop' });
  expect(await fees()).toEqual({ fees: 1n });
  expect(found(await verified(lake))).toEqual([]);
  await backfilled(lake.root, endpoint, 0, 5 * 24);
  expect(await fees()).toEqual({ fees: 2n });
});

test.each([
  ['that has it', 60, 30, 0, 3],
  ['that lacks it', 60, 30, 0, 2],
])(
  'a run that dies at any change of a window %s leaves the fee as it was or as it will be',
  async (_, hour, size, from, to) => {
    const fees = [{ hour, kind: 1 }];
    const before = await lakeOf(fees, size);
    const endpoint = await endpointOf(fees);
    for (let dieAt = 1; ; dieAt++) {
      const lake = { root: await copied(before.root), clock };
      const store = failingStore(openStore(lake.root), dieAt);
      const failure = await backfilled(lake.root, endpoint, from * 24, to * 24, { store }).catch(
        (error: unknown) => error,
      );
      const opened = await database(lake.root, clock);
      const [held] = await opened.rows('SELECT count(*) AS fees FROM events WHERE posted_at IS NULL');
      expect(held, `change ${dieAt}`).toEqual({ fees: 1n });
      if (failure === undefined) {
        expect(dieAt).toBeGreaterThan(9);
        break;
      }
      await rm(join(lake.root, '_runs'), { recursive: true, force: true });
      await backfilled(lake.root, endpoint, from * 24, to * 24);
      await expectFees(lake, new Map([[1, 1]]));
    }
  },
  180_000,
);

const fee = fc.record({ hour: fc.integer({ min: 0, max: days * 24 - 1 }), kind: fc.integer({ min: 1, max: 2 }) });
const range = fc.tuple(fc.integer({ min: 0, max: days * 4 - 1 }), fc.integer({ min: 1, max: days * 4 }));

/** The windows that a lake has loaded, in the order of their commits. */
async function loadedWindows(root: string): Promise<Window[]> {
  const lake = await Lake.open(openStore(root), tables, clock);
  const keys = [...lake.snapshot.keysOf('shop', 'financial-events').values()].filter(({ origin }) => origin === 'api');
  return keys.toSorted((one, other) => (one.version ?? 0) - (other.version ?? 0)).flatMap(({ window }) => window ?? []);
}

function soldOf(items: readonly DatedItem[], isDated: boolean): SoldEvent[] {
  return items.map(({ at, json }) => ({ at, isDated, content: json }));
}

test('whatever windows are loaded, a lake has the fees that the rule says', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fee, { maxLength: 4 }),
      fc.array(fee, { maxLength: 1 }),
      fc.array(fee, { maxLength: 1 }),
      fc.integer({ min: 3, max: 60 }),
      fc.array(fc.record({ range, refresh: fc.boolean(), merge: fc.boolean() }), { minLength: 1, maxLength: 3 }),
      async (both, only, more, size, steps) => {
        const lake = await lakeOf([...both, ...only], size);
        const served = [...both, ...more];
        const endpoint = await endpointOf(served);
        const sold = (fees: readonly Fee[]) =>
          [...soldOf(shipments, true), ...soldOf(fees.map(feeItem), false)].toSorted((one, other) => one.at - other.at);
        const model = new LakeModel();
        const mine = sold([...both, ...only]);
        model.import(
          Array.from({ length: Math.ceil(mine.length / size) }, (_, at) => ({
            events: mine.slice(at * size, at * size + size),
            hasNext: false,
          })),
        );
        const last = { range: [0, days * 4] as const, refresh: false, merge: false };
        for (const {
          range: [one, other],
          refresh,
          merge,
        } of [...steps, last]) {
          const [from, to] = [Math.min(one, other) * 6, Math.max(one, other) * 6];
          if (from === to) continue;
          await backfilled(lake.root, endpoint, from, to, { refresh });
          for (const window of await loadedWindows(lake.root)) model.load(window, sold(served));
          const counts = model.counts();
          await expectFees(
            lake,
            new Map([1, 2].map((kind) => [kind, counts.get(feeItem({ hour: 0, kind }).json) ?? 0])),
          );
          if (merge) await compacted({ lake: lake.root, account: undefined }, { clock });
        }
      },
    ),
    { numRuns: 6, endOnFailure: true },
  );
});
