import fc from 'fast-check';
import { expect, test } from 'vitest';
import { datesByPage } from '../../../src/app/import/saved-pages.js';

type Pages = readonly (readonly (number | null)[])[];

function placed(pages: Pages) {
  const rows = pages.flatMap((dates, page) =>
    dates.map((date) => ({ page, date: date === null ? undefined : BigInt(date) })),
  );
  return datesByPage({ length: rows.length, page: (row) => rows[row]?.page ?? -1, date: (row) => rows[row]?.date });
}

/** The same by its words alone. */
function expected(pages: Pages): (bigint | undefined)[] {
  const dated = pages.map((page) => page.flatMap((date) => (date === null ? [] : [date])));
  const instantOf = (page: number): number | undefined => {
    const own = dated[page] ?? [];
    const before = dated.slice(0, page).findLast((dates) => dates.length > 0);
    const behind = dated.slice(page + 1).find((dates) => dates.length > 0);
    if (own.length > 0) return Math.min(...own);
    if (before !== undefined) return Math.max(...before);
    return behind === undefined ? undefined : Math.min(...behind);
  };
  return pages.flatMap((page, at) =>
    page.map((date) => {
      const instant = date ?? instantOf(at);
      return instant === undefined ? undefined : BigInt(instant);
    }),
  );
}

const pagesOf = fc.array(fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { freq: 1 }), { maxLength: 4 }), {
  maxLength: 6,
});

test('what has no date stands at its page, else at the page before, else at the page behind', () => {
  fc.assert(
    fc.property(pagesOf, (pages) => {
      expect(placed(pages)).toEqual(expected(pages));
    }),
  );
});
