import type { GroupSpan } from '../../../lake/delta/data-file.js';
import { millisecondsOf } from '../../../core/numeric/instant.js';
import type { Collector } from '../../../engine/run/pipeline.js';
import { sliceHoles, type SliceHole } from '../../../engine/run/slice-holes.js';
import { type Window, monthOf } from '../../../core/windows.js';
import type { SubjectPage } from '../model/subject-pages.js';
import { effectiveInstants } from './effective-instants.js';
import { eventIds } from '../model/event-ids.js';
import { finishedSlice } from './event-batches.js';
import type { EventTables } from '../model/slice-batches.js';
import { Flattener } from './flatten.js';
import { groupBatch, readGroup, type GroupRow } from './group-rows.js';
import { count } from '../../../core/count.js';
import { attributes } from './attributes.js';
import { newWarnings, SliceRows, type Subject } from '../model/slice-rows.js';
import { groups } from './event-tables.js';
import { type ScannedPage, eachEvent, eachGroup } from './finances-page.js';
import { sliceCollector } from '../selling-partner/slice-collector.js';
import { unaskable } from '../selling-partner/subject-ids.js';

/** A page of events, with its subject. */
export type EventsPage = SubjectPage<ScannedPage>;

/**
 * Collects the events of a slice. `monthOfSubject` returns the partition of one subject's rows, given their dates in
 * microseconds since 1970.
 */
export function eventCollector(
  tables: EventTables,
  monthOfSubject: (subject: Subject, dates: readonly bigint[]) => string,
): Collector<EventsPage> {
  const rows = new SliceRows(attributes);
  const warnings = newWarnings();
  const flattener = new Flattener(rows, warnings);
  return sliceCollector(
    tables,
    {
      slice: rows,
      warnings,
      isOrdered: true,
      read: (page: ScannedPage) => {
        eachEvent(page, (list, event) => {
          flattener.add(page.tape, list, event);
        });
      },
      finish: () => finishedSlice({ rows, ids: eventIds(rows), effective: effectiveInstants(rows) }),
    },
    monthOfSubject,
  );
}

/**
 * Collects the groups of a window. Their ids and spans go into the log's tags for other pipelines.
 *
 * @param isRelisted of a repeated group the last one counts
 */
export function groupCollector(window: Window, isRelisted = false): Collector<ScannedPage> {
  const rows: GroupRow[] = [];
  const keys: string[] = [];
  const warnings = newWarnings();
  const holes: SliceHole[] = [];
  let pages = 0;
  /** Occurrences of each group's bytes, counted apart for the stored page and the received ones. */
  let times = new Map<string, number>();
  return {
    warnings,
    holes,
    reach: undefined,
    add: (page) => {
      const before = rows.length;
      const isStored = pages === 0;
      holes.push(...sliceHoles(page, pages++));
      eachGroup(page, (group) => {
        const row = readGroup(page.tape, group, warnings);
        rows.push(row);
        keys.push(isRelisted ? groupKey(row, times) : '');
      });
      // The first page is the stored one, which may be empty.
      if (isStored) times = new Map();
      return rows.length - before;
    },
    finish: () => {
      if (rows.length === 0) return [];
      const counted = isRelisted ? [...new Map(rows.map((row, at) => [keys[at], row])).values()] : rows;
      return [
        {
          table: groups,
          month: monthOf(window.start),
          rows: groupBatch(counted, window),
          groups: counted.map(groupSpan),
        },
      ];
    },
  };
}

/** The key of a group: its id, or without a usable id its bytes with their occurrence. */
function groupKey({ id = '', raw }: GroupRow, times: Map<string, number>): string {
  if (unaskable(id, { inPath: true }) === undefined) return `id ${id}`;
  const bytes = raw.page.toString('utf8', raw.start, raw.end);
  count(times, bytes);
  return `${times.get(bytes) ?? 0} ${bytes}`;
}

export function groupSpan({ id = '', startedAt, endedAt, texts, money }: GroupRow): GroupSpan {
  const at = (micros: bigint | undefined) => (micros === undefined ? null : millisecondsOf(micros));
  const span = { id, start: at(startedAt), end: at(endedAt) };
  if (endedAt === undefined) return span;
  if (texts.processing_status === 'Open') return { ...span, open: true };
  return money.original.amount === undefined ? { ...span, awaited: true } : span;
}
