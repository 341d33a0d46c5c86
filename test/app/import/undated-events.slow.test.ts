import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { clockAt, database, fileHashes, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { LakeModel, type SavedPage } from './lake-model.js';
import { eventsBody, fileOf, imported, value } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');
const dayHours = 24;

/** An event at an hour since 27 February 2025; what has no date is told from others by its kind alone. */
interface Happened {
  readonly hour: number;
  readonly kind: number;
  readonly isDated: boolean;
}

type Pages = readonly (readonly Happened[])[];

function fee(kind: number): DatedItem {
  const json = `{"FeeReason":"kind ${kind}","FeeList":[{"FeeType":"Subscription","FeeAmount":{"CurrencyCode":"USD","CurrencyAmount":-123.45}}]}`;
  return { at: 0, list: 'ServiceFeeEventList', json };
}

function itemOf({ hour, kind, isDated }: Happened): DatedItem {
  if (!isDated) return fee(kind);
  return shipment(new Date(Date.UTC(2025, 1, 27, hour)).toISOString(), `111-0000000-000000${kind}`);
}

function linesOf(pages: Pages): string[] {
  return pages.map((page) => eventsBody(page.map(itemOf)));
}

function dated(...hours: readonly number[]): Happened[] {
  return hours.map((hour) => ({ hour, kind: 1, isDated: true }));
}

const aFee: Happened = { hour: 0, kind: 1, isDated: false };

async function emptyLake() {
  return { root: await temporaryFolder(), clock };
}

/** Fees in a lake by kind. */
async function feesOf(root: string): Promise<Map<number, number>> {
  const rows = await (
    await database(root, clock)
  ).rows('SELECT raw, count(*) AS times FROM events WHERE posted_at IS NULL GROUP BY raw');
  const kinds = new Map([1, 2, 3].map((kind) => [fee(kind).json, kind]));
  return new Map(rows.map(({ raw, times }) => [kinds.get(String(raw)) ?? 0, Number(times)]));
}

async function expectSound(lake: { root: string; clock: typeof clock }, fees: ReadonlyMap<number, number>) {
  expect(await feesOf(lake.root)).toEqual(fees);
  const opened = await database(lake.root, clock);
  const sum = [...fees.values()].reduce((one, other) => one + other, 0);
  expect(
    await value(opened, "SELECT coalesce(sum(amount), 0) FROM entries WHERE event_list = 'ServiceFeeEventList'"),
  ).toBe(sum === 0 ? '0.000000' : (-123.45 * sum).toFixed(6));
  const doubled = await opened.rows(
    'SELECT event_id FROM events GROUP BY ALL HAVING count(*) > 1 UNION ALL ' +
      "SELECT window_start || ' ' || position FROM events GROUP BY window_start, window_end, position HAVING count(*) > 1",
  );
  expect(doubled).toEqual([]);
  const iso = (column: string) => `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`;
  const hashed = `event_list || chr(0) || raw || chr(0) || ${iso('window_start')} || chr(0) || ${iso('window_end')}`;
  const others = `SELECT count(*) FROM events WHERE posted_at IS NULL AND left(event_id, 32) <> left(sha256(${hashed}), 32)`;
  expect(await value(opened, others)).toBe('0');
  if (sum > 0) expect(found(await verified(lake))).toEqual([]);
}

test.each([
  ['by separate commands', false],
  ['by one command', true],
])('a fee without a date on pages that are cut differently stands once: %s', async (_, isOne) => {
  const hours = dated(0, 30, 60, 90, 120, 150);
  const files = [
    [[...hours, aFee]],
    [hours.slice(0, 3), [...hours.slice(3), aFee]],
    [...hours.map((hour) => [hour]), [aFee]],
  ].map((pages) => fileOf(linesOf(pages)));
  const lake = await emptyLake();
  const paths = await Promise.all(files);
  for (const some of isOne ? [paths] : paths.map((path) => [path])) await imported(lake, some);
  await expectSound(lake, new Map([[1, 1]]));
  const before = await fileHashes(lake.root);
  const again = await imported(lake, paths.toReversed());
  expect(await fileHashes(lake.root)).toEqual(before);
  expect(again.summary).toMatchObject({ undecided: 0, imported: { 'financial-events': { known: 21 } } });
});

test('pages by settlement beside those by date, in both orders, merged between', async () => {
  const hours = dated(0, 20, 40, 60, 80, 100, 120, 140);
  const fees: Happened[] = [aFee, { ...aFee, kind: 2 }, aFee];
  const byDate: Pages = [
    [...hours.slice(0, 3), ...fees.slice(0, 1)],
    [...hours.slice(3), ...fees.slice(1)],
  ];
  // Two settlements at once: one has the even hours and most fees.
  const even = hours.filter(({ hour }) => hour % 40 === 0);
  const odd = hours.filter(({ hour }) => hour % 40 !== 0);
  const bySettlement: Pages = [[...odd.slice(2), ...fees.slice(2)], odd.slice(0, 2), [...even, ...fees.slice(0, 2)]];
  for (const order of [
    [byDate, bySettlement],
    [bySettlement, byDate],
  ]) {
    const lake = await emptyLake();
    for (const pages of order) {
      await imported(lake, [await fileOf(linesOf(pages))]);
      await compacted({ lake: lake.root, account: undefined }, { clock });
    }
    await expectSound(
      lake,
      new Map([
        [1, 2],
        [2, 1],
      ]),
    );
  }
});

test('equal fees of inputs whose days lie apart are different ones, and of inputs that cover both as many as there are', async () => {
  const january = [[...dated(0, 20), aFee]];
  const february = [[...dated(100, 120), aFee]];
  const all = [
    [...dated(0, 20, 100), aFee],
    [...dated(120), aFee],
  ];
  for (const order of [
    [january, february, all],
    [all, february, january],
    [february, all, january],
  ]) {
    const lake = await emptyLake();
    for (const pages of order) await imported(lake, [await fileOf(linesOf(pages))]);
    await expectSound(lake, new Map([[1, 2]]));
  }
});

test('what overlaps only in part counts as the same, and as undecided', async () => {
  const early = [dated(0, 30), [...dated(60, 90), aFee]];
  const late = [[...dated(70, 90), aFee], dated(120, 150)];
  const later = [dated(70, 90), [...dated(120, 150), aFee]];
  for (const [first, second] of [
    [early, late],
    [late, early],
    [early, later],
    [later, early],
  ] as const) {
    const lake = await emptyLake();
    await imported(lake, [await fileOf(linesOf(first))]);
    const { summary, printed } = await imported(lake, [await fileOf(linesOf(second))]);
    expect(summary).toMatchObject({ undecided: 1 });
    expect(printed).toContain('Undecided: whether 1 event without a date is one that the lake held');
    await expectSound(lake, new Map([[1, 1]]));
  }
});

/** Pages as `LakeModel` has them. */
function saved(pages: Pages): SavedPage[] {
  return pages.map((page) => ({
    events: page.map(({ hour, kind, isDated }) => {
      const at = Date.UTC(2025, 1, 27, hour);
      return { at, isDated, content: isDated ? `sale ${hour} ${kind}` : `fee ${kind}` };
    }),
    hasNext: false,
  }));
}

function feesIn(model: LakeModel): Map<number, number> {
  return new Map(
    [...model.counts()].flatMap(([content, times]) =>
      content.startsWith('fee') ? [[Number(content.slice(4)), times]] : [],
    ),
  );
}

test('a merged file still says which days a fee can be of', async () => {
  const short: Pages = [[...dated(80, 110), aFee]];
  const covering: Pages = [dated(0), [...dated(50), { ...aFee, kind: 2 }], dated(110)];
  const long: Pages = [dated(75), [...dated(160, 170), aFee]];
  const inputs = [short, covering, long];
  const paths = await Promise.all(inputs.map((pages) => fileOf(linesOf(pages))));
  const lake = await emptyLake();
  const model = new LakeModel();
  for (const [at, pages] of inputs.entries()) {
    await imported(lake, [paths[at] ?? '']);
    model.import(saved(pages));
  }
  const fees = feesIn(model);
  await expectSound(lake, fees);
  await compacted({ lake: lake.root, account: undefined }, { clock });
  for (const path of paths) await imported(lake, [path]);
  for (const pages of inputs) model.import(saved(pages));
  expect(feesIn(model)).toEqual(fees);
  await expectSound(lake, fees);
});

const happened = fc.array(
  fc.record({
    hour: fc.integer({ min: 0, max: 200 }),
    kind: fc.integer({ min: 1, max: 2 }),
    isDated: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);
const limits = fc.record({ chunkBytes: fc.constantFrom(1, 900, 32_000_000) });

/** Cuts events into pages of a size, by date or settlement by settlement. */
function cutIntoPages(events: readonly Happened[], size: number, settlements: number): Pages {
  const order = events
    .map((event, at) => ({ event, group: settlements === 0 ? 0 : (event.hour + at) % settlements }))
    .toSorted((one, other) => one.group - other.group || one.event.hour - other.event.hour)
    .map(({ event }) => event);
  return Array.from({ length: Math.ceil(order.length / size) }, (_, page) =>
    order.slice(page * size, (page + 1) * size),
  );
}

const cut = fc.record({ size: fc.integer({ min: 1, max: 6 }), settlements: fc.integer({ min: 0, max: 3 }) });

test('whatever inputs cover, however they are cut, a lake has what the rule says, and importing them again adds no more', async () => {
  const range = fc.tuple(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 8 }));
  await fc.assert(
    fc.asyncProperty(
      happened,
      fc.array(fc.record({ cut, range }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.boolean(),
      limits,
      async (events, cuts, isOne, isMerged, given) => {
        const lake = await emptyLake();
        const inputs = cuts.map(({ cut: { size, settlements }, range: [one, other] }) => {
          const [from, to] = [Math.min(one, other) * dayHours, (Math.max(one, other) + 1) * dayHours];
          const some = events.filter(({ hour }) => hour >= from + 6 && hour < to);
          return cutIntoPages([...dated(from + 6), ...some, ...dated(to - 2)], size, settlements);
        });
        const paths = await Promise.all(inputs.map((pages) => fileOf(linesOf(pages))));
        const model = new LakeModel();
        for (const some of isOne ? [paths] : paths.map((path) => [path])) {
          const { failure } = await imported(lake, some, { limits: { ...importLimits, ...given } });
          expect(failure).toBeUndefined();
        }
        for (const pages of inputs) model.import(saved(pages));
        await expectSound(lake, feesIn(model));
        if (isMerged) await compacted({ lake: lake.root, account: undefined }, { clock });
        for (const [at, path] of paths.entries()) {
          await imported(lake, [path]);
          model.import(saved(inputs[at] ?? []));
        }
        await expectSound(lake, feesIn(model));
      },
    ),
    { numRuns: 12, endOnFailure: true },
  );
});

test('six files of three days each, saved night after night, bring each of eight fees once', async () => {
  const hours = Array.from({ length: 8 * 8 }, (_, at) => at * 3);
  const sales = dated(...hours);
  const fees = hours.filter((_, at) => at % 8 === 4).map((hour) => ({ hour, kind: 1, isDated: false }));
  const all = [...sales, ...fees].toSorted((one, other) => one.hour - other.hour);
  const nights = Array.from({ length: 6 }, (_, night) =>
    cutIntoPages(
      all.filter(({ hour }) => hour >= night * dayHours && hour < (night + 3) * dayHours),
      5,
      0,
    ),
  );
  for (const order of [nights, nights.toReversed()]) {
    const lake = await emptyLake();
    for (const pages of order) await imported(lake, [await fileOf(linesOf(pages))]);
    await expectSound(lake, new Map([[1, 8]]));
  }
});
