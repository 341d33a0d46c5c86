import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importLimits } from '../../../src/app/import/chunk-threads.js';
import { clockAt, database, fileHashes, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import type { DatedItem } from '../../serve/http/array-ledger.js';
import { shipment } from '../load/ledger-items.js';
import { found, verified } from '../verify/verified.js';
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
      "SELECT window_start || ' ' || position FROM events GROUP BY window_start, position HAVING count(*) > 1",
  );
  expect(doubled).toEqual([]);
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

test('what overlaps only in part is the same where each stands on days of the other, and is counted', async () => {
  const early = [dated(0, 30), [...dated(60, 90), aFee]];
  const late = [[...dated(70, 90), aFee], dated(120, 150)];
  const later = [dated(70, 90), [...dated(120, 150), aFee]];
  for (const [order, fees] of [
    [[early, late], 1],
    [[late, early], 1],
    [[early, later], 2],
    [[later, early], 2],
  ] as const) {
    const lake = await emptyLake();
    const [first, second] = order;
    await imported(lake, [await fileOf(linesOf(first))]);
    const { summary, printed } = await imported(lake, [await fileOf(linesOf(second))]);
    expect(summary).toMatchObject({ undecided: 1 });
    expect(printed).toContain('Undecided: whether 1 event without a date is one that the lake held');
    await expectSound(lake, new Map([[1, fees]]));
  }
});

test('a merged file still says which inputs a fee is of', async () => {
  const short: Pages = [[...dated(80, 110), aFee]];
  const covering: Pages = [dated(0), [...dated(50), { ...aFee, kind: 2 }], dated(110)];
  const long: Pages = [dated(75), [...dated(160, 170), aFee]];
  const inputs = [short, covering, long].map((pages) => fileOf(linesOf(pages)));
  const lake = await emptyLake();
  for (const path of inputs) await imported(lake, [await path]);
  const fees = new Map([
    [1, 1],
    [2, 1],
  ]);
  await expectSound(lake, fees);
  await compacted({ lake: lake.root, account: undefined }, { clock });
  for (const path of inputs) await imported(lake, [await path]);
  await expectSound(lake, fees);
});

/** A fee of a lake: where it stands, and what days it may be of. Days since the epoch of `Happened`. */
interface Row {
  readonly kind: number;
  readonly day: number;
  readonly span: readonly [number, number];
}

const dayOf = (hour: number) => Math.floor(hour / dayHours);

/** Where fees stand, by the words of docs/import.md alone. */
function placed(pages: Pages): { readonly kind: number; readonly day: number }[] {
  const hours = pages.map((page) => page.flatMap(({ hour, isDated }) => (isDated ? [hour] : [])));
  return pages.flatMap((page, at) => {
    const own = hours[at] ?? [];
    const before = hours.slice(0, at).findLast((some) => some.length > 0);
    const behind = hours.slice(at + 1).find((some) => some.length > 0) ?? [];
    const hour = own.length > 0 ? Math.min(...own) : before === undefined ? Math.min(...behind) : Math.max(...before);
    return page.filter(({ isDated }) => !isDated).map(({ kind }) => ({ kind, day: dayOf(hour) }));
  });
}

/** The rule, slowly: the fees of a lake once more pages are imported. */
function withInput(rows: readonly Row[], pages: Pages): readonly Row[] {
  const hours = pages.flat().flatMap(({ hour, isDated }) => (isDated ? [hour] : []));
  if (hours.length === 0) return rows;
  const span = [Math.min(...hours), Math.max(...hours)] as const;
  const isInDays = (day: number, [first, last]: readonly [number, number]) => day >= dayOf(first) && day <= dayOf(last);
  const lies = (one: readonly [number, number], other: readonly [number, number]) =>
    one[0] >= other[0] && one[1] <= other[1];
  const daysOf = ([first, last]: readonly [number, number]) => [dayOf(first), dayOf(last)] as const;
  const either = (one: readonly [number, number], other: readonly [number, number]) =>
    lies(one, other) || lies(other, one);
  const isCovered = (other: readonly [number, number]) =>
    either(span, other) || (span[0] < other[1] && other[0] < span[1] && either(daysOf(span), daysOf(other)));
  const next = [...rows];
  for (const kind of new Set(pages.flat().map((event) => event.kind))) {
    const own = placed(pages).filter((event) => event.kind === kind);
    const others = rows.filter((row) => row.kind === kind);
    const same = others.filter((row) => isCovered(row.span)).length;
    const partial = others.filter(
      (row) => !isCovered(row.span) && dayOf(row.span[0]) <= dayOf(span[1]) && dayOf(row.span[1]) >= dayOf(span[0]),
    );
    let likely = 0;
    for (const days of new Set(partial.map((row) => daysOf(row.span).join()))) {
      const of = partial.filter((row) => daysOf(row.span).join() === days);
      const there = of.filter((row) => isInDays(row.day, span)).length;
      const here = own.filter(({ day }) => of[0] !== undefined && isInDays(day, of[0].span)).length;
      likely += Math.min(there, here);
    }
    likely = Math.min(likely, own.filter(({ day }) => partial.some((row) => isInDays(day, row.span))).length);
    const more = own.length - same - likely;
    const taken = new Map<number, number>();
    for (const { day } of others) taken.set(day, (taken.get(day) ?? 0) + 1);
    const free = own
      .toSorted((one, other) => one.day - other.day)
      .filter(({ day }) => {
        const left = taken.get(day) ?? 0;
        taken.set(day, left - 1);
        return left <= 0;
      });
    if (more > 0) expect(free.length).toBeGreaterThanOrEqual(more);
    next.push(...free.slice(0, Math.max(0, more)).map(({ day }) => ({ kind, day, span })));
  }
  return next;
}

function counted(rows: readonly { readonly kind: number }[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { kind } of rows) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

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

test('inputs that cover the same days, however cut and in whatever order, give as many as the one that has most', async () => {
  await fc.assert(
    fc.asyncProperty(
      happened,
      fc.array(fc.record({ cut, without: fc.nat({ max: 12 }) }), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      limits,
      async (events, cuts, isOne, given) => {
        const lake = await emptyLake();
        const ends = dated(0, 201);
        const inputs = cuts.map(({ cut: { size, settlements }, without }) => {
          const some = events.filter((event, at) => event.isDated || at !== without);
          return cutIntoPages([...ends.slice(0, 1), ...some, ...ends.slice(1)], size, settlements);
        });
        const paths = await Promise.all(inputs.map((pages) => fileOf(linesOf(pages))));
        for (const some of isOne ? [paths] : paths.map((path) => [path])) {
          const { failure, summary } = await imported(lake, some, { limits: { ...importLimits, ...given } });
          expect(failure).toBeUndefined();
          expect(summary).toMatchObject({ undecided: 0 });
        }
        const most = new Map<number, number>();
        for (const pages of inputs) {
          for (const [kind, times] of counted(placed(pages))) most.set(kind, Math.max(times, most.get(kind) ?? 0));
        }
        await expectSound(lake, most);
        const before = await fileHashes(lake.root);
        await imported(lake, paths);
        expect(await fileHashes(lake.root)).toEqual(before);
      },
    ),
    { numRuns: 12 },
  );
});

test('whatever inputs cover, a lake has what the rule says, and importing one again changes nothing', async () => {
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
          // The first page has a date: parts of a byte hold no more than a page.
          const some = events.filter(({ hour }) => hour >= from + 6 && hour < to);
          return cutIntoPages([...dated(from + 6), ...some, ...dated(to - 2)], size, settlements);
        });
        const paths = await Promise.all(inputs.map((pages) => fileOf(linesOf(pages))));
        for (const some of isOne ? [paths] : paths.map((path) => [path])) {
          const { failure } = await imported(lake, some, { limits: { ...importLimits, ...given } });
          expect(failure).toBeUndefined();
        }
        let rows: readonly Row[] = [];
        for (const pages of inputs) rows = withInput(rows, pages);
        await expectSound(lake, counted(rows));
        if (isMerged) await compacted({ lake: lake.root, account: undefined }, { clock });
        for (const path of paths) await imported(lake, [path]);
        await expectSound(lake, counted(rows));
      },
    ),
    { numRuns: 12, endOnFailure: true },
  );
});
