import fc from 'fast-check';
import { expect, test } from 'vitest';
import { instantsByPage } from '../../../../src/sources/finances/api-v0/effective-instants.js';

type Pages = readonly (readonly (number | null)[])[];

function received(pages: Pages): (number | undefined)[] {
  const rows = pages.flatMap((dates, page) =>
    dates.map((date) => ({ page, date: date === null ? undefined : BigInt(date) })),
  );
  const instants = instantsByPage({
    length: rows.length,
    page: (row) => rows[row]?.page ?? -1,
    date: (row) => rows[row]?.date,
  });
  return rows
    .map(({ page }) => instants.get(page))
    .map((instant) => (instant === undefined ? undefined : Number(instant)));
}

/** The same by its words alone. */
function expected(pages: Pages): (number | undefined)[] {
  const dated = pages.map((page) => page.flatMap((date) => (date === null ? [] : [date])));
  const instantOf = (page: number): number | undefined => {
    const own = dated[page] ?? [];
    const before = dated.slice(0, page).flat();
    const behind = dated.slice(page + 1).find((dates) => dates.length > 0);
    if (own.length > 0) return Math.min(...own);
    if (before.length > 0) return Math.max(...before);
    return behind === undefined ? undefined : Math.min(...behind);
  };
  return pages.flatMap((page, at) => page.map(() => instantOf(at)));
}

const pagesOf = fc.array(fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { freq: 1 }), { maxLength: 4 }), {
  maxLength: 6,
});

test('what has no date has the instant of its page, else of the pages before, else of the page behind', () => {
  fc.assert(
    fc.property(pagesOf, (pages) => {
      expect(received(pages)).toEqual(expected(pages));
    }),
  );
});
