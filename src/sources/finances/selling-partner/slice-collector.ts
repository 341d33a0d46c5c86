import { millisecondsOf } from '../../../core/numeric/instant.js';
import { count } from '../../../core/count.js';
import type { Collector } from '../../../engine/run/pipeline.js';
import { sliceHoles, type PageWithHoles, type SliceHole } from '../../../engine/run/slice-holes.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { eventsByMonth, monthBatches, type EventTables, type FinishedSlice } from '../model/slice-batches.js';
import type { EventWarnings, Subject, SliceRows } from '../model/slice-rows.js';
import type { SubjectPage } from '../model/subject-pages.js';

/** How the pages of one API become rows. */
interface PageReader<Page> {
  readonly slice: SliceRows;
  readonly warnings: EventWarnings;
  /** Whether pages are in order of dates, so that these show the progress. */
  readonly isOrdered: boolean;
  /** Adds the events or transactions of a page. */
  readonly read: (page: Page) => void;
  /** After the last page. `repeated`: rows that are left out, as others of the slice replace them. */
  readonly finish: () => FinishedSlice & { readonly repeated?: ReadonlySet<number> };
}

/**
 * Collects the events or transactions of a slice in their tables. `monthOfSubject` returns the partition of one subject's rows, given
 * their dates in microseconds since 1970.
 */
export function sliceCollector<Page extends PageWithHoles>(
  tables: EventTables,
  { slice, warnings, isOrdered, read, finish }: PageReader<Page>,
  monthOfSubject: (subject: Subject, dates: readonly bigint[]) => string,
): Collector<SubjectPage<Page>> {
  let reach: bigint | undefined;
  let first: bigint | undefined;
  const holes: SliceHole[] = [];
  let pages = 0;
  return {
    warnings,
    holes,
    get reach() {
      return reach === undefined ? undefined : millisecondsOf(reach);
    },
    get first() {
      return first === undefined ? undefined : millisecondsOf(first);
    },
    add: ({ page, subject }) => {
      if (slice.subjects.at(-1) !== subject) {
        slice.begin(subject);
        pages = 0;
      }
      const { requestedOrderId } = subject;
      if (page === undefined) {
        count(warnings.unknownOrders, requestedOrderId ?? '');
        return 0;
      }
      const before = slice.events.length;
      slice.pages++;
      const loadKey = requestedOrderId === undefined ? undefined : loadKeyFor('order', requestedOrderId);
      holes.push(...sliceHoles(page, pages++, loadKey));
      read(page);
      for (const posted of isOrdered ? slice.events.postedAt.slice(before) : []) {
        if (posted === undefined) continue;
        if (reach === undefined || posted > reach) reach = posted;
        if (first === undefined || posted < first) first = posted;
      }
      return slice.events.length - before;
    },
    finish: () => {
      const { repeated, ...finished } = finish();
      return [...eventsByMonth(slice, monthOfSubject)].flatMap(([month, received]) => {
        const chosen = repeated === undefined ? received : received.filter((row) => !repeated.has(row));
        return [...monthBatches(tables, finished, month, chosen)];
      });
    },
  };
}
