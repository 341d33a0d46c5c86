import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pairs } from '../../../src/lake/loads/undated-events.js';
import { cut, dayMs, hourMs, overlap, type Window } from '../../../src/core/windows.js';
import { expectedCounts, LakeModel, type SavedPage, type SoldEvent } from '../../app/import/lake-model.js';

const start = Date.UTC(2025, 0, 27);

/** The pages of one answer. */
function pagesOf(events: readonly SoldEvent[], size: number): SavedPage[] {
  const count = Math.max(1, Math.ceil(events.length / size));
  return Array.from({ length: count }, (_, page) => ({
    events: events.slice(page * size, (page + 1) * size),
    hasNext: page + 1 < count,
  }));
}

interface Step {
  readonly kind: 'import' | 'load';
  /** From 0 to 1: where in the seller's days it begins and ends. */
  readonly from: number;
  readonly to: number;
  readonly size: number;
}

const share = fc.integer({ min: 0, max: 1000 }).map((number) => number / 1000);
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('import', 'import', 'load'),
    from: share,
    to: share,
    size: fc.integer({ min: 1, max: 15 }),
  }),
  { minLength: 1, maxLength: 6 },
);

/** Runs imports and loads; `fileOf` and `windowsOf` choose what of the seller each is of. */
function played(
  events: readonly SoldEvent[],
  all: readonly Step[],
  fileOf: (step: Step) => readonly SavedPage[],
  windowsOf: (step: Step) => readonly Window[],
) {
  const lake = new LakeModel();
  const files: (readonly SavedPage[])[] = [];
  for (const step of all) {
    if (step.kind === 'load') for (const window of windowsOf(step)) lake.load(window, events);
    else {
      files.push(fileOf(step));
      lake.import(files.at(-1) ?? []);
    }
  }
  return { lake, files, expected: expectedCounts(events, files, lake.loaded) };
}

describe('files by date, in order', () => {
  const days = 45;
  /** A busy shop: an event every few hours, a monthly fee each ten days or more, and other events without a date, alone or in pairs. */
  const shop = fc
    .record({
      hours: fc.array(fc.integer({ min: 1, max: 6 * 60 }), { minLength: 40, maxLength: 200 }),
      fees: fc.record({ every: fc.integer({ min: 10, max: 30 }), at: fc.integer({ min: 0, max: 239 }) }),
      others: fc.array(fc.record({ minute: fc.integer({ min: 0, max: days * 1440 - 1 }), isPair: fc.boolean() }), {
        maxLength: 20,
      }),
    })
    .map(({ hours, fees, others }): SoldEvent[] => {
      const events: SoldEvent[] = [];
      let at = start;
      for (let number = 0; at < start + days * dayMs; number++) {
        events.push({ at, content: `sale ${number}`, isDated: true });
        at += (hours[number % hours.length] ?? 60) * 60_000;
      }
      for (let fee = start + fees.at * hourMs; fee < at; fee += fees.every * dayMs)
        events.push({ at: fee, content: 'fee', isDated: false });
      for (const [number, { minute, isPair }] of others.entries()) {
        const other = { at: start + minute * 60_000, content: `other ${number}`, isDated: false };
        events.push(other, ...(isPair ? [{ ...other }] : []));
      }
      return events.toSorted((a, b) => a.at - b.at);
    });

  /** A file from one dated event to another one. */
  const fileOf = (events: readonly SoldEvent[], { from, to, size }: Step): SavedPage[] => {
    const dated = [...events.entries()].flatMap(([index, { isDated }]) => (isDated ? [index] : []));
    const index = (at: number) => dated[Math.floor(at * (dated.length - 1))] ?? 0;
    return pagesOf(events.slice(index(Math.min(from, to)), index(Math.max(from, to)) + 1), size);
  };
  /** A backfill: its windows are shorter than fees lie apart, or no file could tell one from another. */
  const windowsOf = ({ from, to }: Step): readonly Window[] => {
    const at = (part: number) => start + Math.floor(part * days * 24) * hourMs;
    return cut({ start: at(Math.min(from, to)), end: at(Math.max(from, to)) + hourMs }, 3);
  };

  test('in whatever order they are imported and windows loaded, a lake has what the seller has, and nothing twice', () => {
    fc.assert(
      fc.property(shop, steps, (events, all) => {
        const { lake, files, expected } = played(events, all, (step) => fileOf(events, step), windowsOf);
        expect(lake.counts()).toEqual(expected);
        for (const file of files) lake.import(file);
        expect(lake.counts()).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('three days saved each night bring each fee once', () => {
    fc.assert(
      fc.property(shop, fc.integer({ min: 5, max: 44 }), fc.boolean(), (events, size, isReversed) => {
        const nights = Array.from({ length: days - 2 }, (_, night) => {
          const window = { start: start + night * dayMs, end: start + (night + 3) * dayMs };
          const own = events.filter(({ at }) => at >= window.start && at < window.end);
          const dated = own.map(({ isDated }) => isDated);
          return pagesOf(own.slice(dated.indexOf(true), dated.lastIndexOf(true) + 1), size);
        });
        const lake = new LakeModel();
        for (const file of isReversed ? nights.toReversed() : nights) lake.import(file);
        expect(lake.counts()).toEqual(expectedCounts(events, nights, []));
      }),
      { numRuns: 50 },
    );
  });
});

test('in whatever form events are saved, no event with a date is lost or doubled, and no other appears from nowhere', () => {
  const event = fc.record({
    at: fc.integer({ min: 0, max: 20 * 24 }).map((hour) => start + hour * hourMs),
    kind: fc.integer({ min: 0, max: 3 }),
    isDated: fc.boolean(),
  });
  const sold = fc.array(event, { minLength: 1, maxLength: 40 }).map((all) =>
    all.map(({ at, kind, isDated }): SoldEvent => ({
      at,
      isDated,
      content: isDated ? `${at} ${kind}` : `fee ${kind}`,
    })),
  );
  /** Pages in any order, with any of the events. */
  const file = (events: readonly SoldEvent[], { from, to, size }: Step): SavedPage[] => {
    const turned = Math.floor(from * events.length);
    const some = [...events.slice(turned), ...events.slice(0, turned)].filter((_, at) => (at * 7) % 10 < 2 + to * 8);
    return pagesOf(some, size).map((page, at) => ({ ...page, hasNext: page.hasNext && at % 3 > 0 }));
  };
  const windowsOf = ({ from, to }: Step): readonly Window[] => {
    const at = (part: number) => start + Math.floor(part * 20 * 4) * 6 * hourMs;
    return [{ start: at(Math.min(from, to)), end: at(Math.max(from, to)) + 6 * hourMs }];
  };
  const datedOf = (counts: ReadonlyMap<string, number>) =>
    new Map([...counts].filter(([content]) => !content.startsWith('fee')).toSorted());
  fc.assert(
    fc.property(sold, steps, (events, all) => {
      const fileOf = (step: Step) => file(events, step);
      const { lake, files } = played(events, all, fileOf, windowsOf);
      const readable = files.filter((pages) => pages.some((page) => page.events.some(({ isDated }) => isDated)));
      // Of equal events a lake has as many as the source that has the most.
      const most = new Map<string, number>();
      const note = (some: readonly SoldEvent[]) => {
        for (const [content, times] of countsOf(some)) most.set(content, Math.max(times, most.get(content) ?? 0));
      };
      const isLoaded = ({ at }: SoldEvent) => lake.loaded.some(({ start: from, end }) => at >= from && at < end);
      for (const pages of readable) note(pages.flatMap((page) => page.events).filter((one) => !isLoaded(one)));
      note(events.filter(isLoaded));
      expect(datedOf(lake.counts())).toEqual(datedOf(most));
      const known = new Set(events.map(({ content }) => content));
      expect([...lake.counts().keys()].filter((content) => !known.has(content))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

function countsOf(events: readonly SoldEvent[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { content } of events) counts.set(content, (counts.get(content) ?? 0) + 1);
  return counts;
}

describe('pairs', () => {
  const span = fc
    .tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 1, max: 6 }))
    .map(([from, length]): Window => ({ start: from * dayMs, end: (from + length) * dayMs }));

  /** The size of the largest pairing, by augmenting paths. */
  function mostPairs(a: readonly Window[], b: readonly Window[]): number {
    const partner = new Map<Window, Window>();
    const isAugmented = (one: Window, seen: Set<Window>): boolean => {
      for (const other of b) {
        if (seen.has(other) || !overlap(one, other)) continue;
        seen.add(other);
        const before = partner.get(other);
        if (before !== undefined && !isAugmented(before, seen)) continue;
        partner.set(other, one);
        return true;
      }
      return false;
    };
    return a.filter((one) => isAugmented(one, new Set())).length;
  }

  test('are as many as can be, of spans that overlap, each once', () => {
    fc.assert(
      fc.property(fc.array(span, { maxLength: 10 }), fc.array(span, { maxLength: 10 }), (a, b) => {
        const found = [...pairs(a, b)];
        expect(found.length).toBe(mostPairs(a, b));
        expect(new Set(found.map(([, other]) => other)).size).toBe(found.length);
        for (const [one, other] of found) expect(overlap(one, other)).toBe(true);
      }),
    );
  });

  test('are the most alike', () => {
    const day = (from: number, to: number): Window => ({ start: from * dayMs, end: to * dayMs });
    const [short, long, other] = [day(2, 3), day(0, 9), day(2, 4)];
    expect([...pairs([long, short], [other])]).toEqual([[short, other]]);
    expect([...pairs([other], [long, short])]).toEqual([[other, short]]);
  });
});
