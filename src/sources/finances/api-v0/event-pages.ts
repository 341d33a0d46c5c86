import type { Reading } from '../../../engine/run/pipeline.js';
import type { GroupSlice } from './group-slices.js';
import { scanPage, type ScannedPage, type CountedPage } from './finances-page.js';
import { emptySubject, type Subject } from '../model/slice-rows.js';
import type { WithFinancesV0 } from './finances-api.js';
import { formatCount } from '../../../core/text/amounts.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';
import { subjectPages } from '../selling-partner/subject-ids.js';

/** Events of a settlement, whose start and end are the window. */
export function groupSubject({ group: { id, start, end }, opened }: GroupSlice): Subject {
  const [windowStart, windowEnd] = [start ?? undefined, end ?? undefined];
  return { ...emptySubject, windowStart, windowEnd, fallback: opened, groupId: id };
}

/** Pages, preceded by the stored one whose body `stored` reads, if any. */
export async function* storedThenRead(
  stored: (() => Promise<Uint8Array>) | undefined,
  pages: AsyncIterable<ScannedPage>,
): AsyncGenerator<ScannedPage> {
  if (stored !== undefined) yield scanPage(await stored());
  yield* pages;
}

/**
 * The pages of a settlement.
 *
 * @throws ReadFailure `too-large` with `refusedAfter` where its size is the reason of a refusal; and what `subjectPages` throws
 */
export async function* groupPages(
  { group }: GroupSlice,
  reading: Reading<WithFinancesV0>,
): AsyncGenerator<CountedPage> {
  const { v0 } = reading.upstream;
  let events = 0;
  try {
    const query = { operation: 'ListFinancialEventsByGroupId', parameters: { eventGroupId: group.id } } as const;
    const pages = () => v0.pages(query, reading);
    for await (const page of subjectPages({ id: group.id, inPath: true, refusalText: unaskableText, pages })) {
      events += page.results;
      yield page;
    }
  } catch (error) {
    // A page is refused after accepted ones: only the size differs.
    if (!(error instanceof ReadFailure) || error.kind !== 'invalid' || events === 0) throw error;
    throw error.with({ kind: 'too-large', message: refusedText(events), refusedAfter: events });
  }
}

function unaskableText(why: string): string {
  return (
    `expected a settlement id that can be requested, but ${why}; the service returned it. Its events are in the lake by date, if ` +
    'financial-events is loaded for its dates.'
  );
}

/** What became of a settlement that the service refused for its size, behind so many events. */
export function tooLargeText(events: number): string {
  return (
    `too large for the service (refused after ${formatCount(events, 'event')}); financial-events has its events by date, ` +
    'where they are loaded'
  );
}

function refusedText(events: number): string {
  const again = 'not requested again until its end changes, or with `backfill group-events --refresh`';
  return `${tooLargeText(events)}; ${again}`;
}
