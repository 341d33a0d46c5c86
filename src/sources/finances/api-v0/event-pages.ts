import type { Reading } from '../../../engine/run/pipeline.js';
import type { GroupSlice } from './group-slices.js';
import { scanPage, type ScannedPage, type FinancesPage } from './finances-page.js';
import { emptySource, type RowSource } from '../model/slice-rows.js';
import type { WithFinancesV0 } from './finances-api.js';
import { formatCount } from '../../../core/text/amounts.js';
import { patienceMs, type LargeGroup } from './large-groups.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';
import { subjectPages } from '../selling-partner/subject-ids.js';
import { isoDate } from '../../../core/numeric/instant.js';

/** Events of a settlement, whose start and end are the window. */
export function groupSource({ group: { id, start, end }, opened }: GroupSlice): RowSource {
  const [windowStart, windowEnd] = [start ?? undefined, end ?? undefined];
  return { ...emptySource, windowStart, windowEnd, fallback: opened, groupId: id };
}

/** Pages, preceded by the stored one whose body `stored` reads, if any. */
export async function* storedThenRead(
  stored: (() => Promise<Uint8Array>) | undefined,
  pages: AsyncIterable<ScannedPage>,
): AsyncGenerator<ScannedPage> {
  if (stored !== undefined) yield scanPage(await stored());
  yield* pages;
}

/** Events from which a refused settlement counts as too large, and is not retried soon. */
const manyEvents = 10_000;

/**
 * The pages of a settlement.
 *
 * @throws ReadFailure `too-large` where its size is the likely reason of a refusal; `known`, without a request, where that was so
 * recently; and what `subjectPages` throws
 */
export async function* groupPages(
  { group }: GroupSlice,
  reading: Reading<WithFinancesV0>,
): AsyncGenerator<FinancesPage> {
  const { v0, largeGroups } = reading.upstream;
  const known = largeGroups?.find(group);
  if (known !== undefined) throw new ReadFailure('known', 'UPSTREAM_STATUS', knownText(known));
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
    if (events >= manyEvents) await largeGroups?.add(group, events);
    throw error.with({ kind: 'too-large', why: sizeText(events) });
  }
}

function unaskableText(why: string): string {
  return `expected a settlement id that can be requested, but ${why}; the service returned it. ${byDate}`;
}

function sizeText(events: number): string {
  return (
    `Most likely too large: the service refused to continue after ${formatCount(events, 'event')} of the settlement. It returns none of ` +
    `more than about 15,300 events or 150 pages. ${byDate}`
  );
}

function knownText({ events, at }: LargeGroup): string {
  const [then, next] = [at, at + patienceMs].map(isoDate);
  return (
    `Not requested again: on ${then ?? ''} it was refused after ${formatCount(events, 'event')}, most likely for its size. ` +
    `${byDate} It is tried again when its end changes, from ${next ?? ''} on, or with \`backfill --refresh\`.`
  );
}

const byDate = 'Its events are in the lake by date, if financial-events is loaded for its dates.';
