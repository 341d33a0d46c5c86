import { readGroup, type GroupRow } from '../../sources/finances/model/group-rows.js';
import type { EventWarnings } from '../../sources/finances/model/warnings.js';
import { eachGroup, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { dayOf } from '../../lake/loads/imported-days.js';
import { placedByPage } from './page-order.js';

/**
 * The groups that an input lists, each once: an input may hold listings of several days, in which a group was open first
 * and closed later.
 */
export class GroupList {
  readonly #groups = new Map<string, { readonly row: GroupRow; readonly line: number }>();
  readonly #lines: number[] = [];
  readonly #warnings: EventWarnings;

  constructor(warnings: EventWarnings) {
    this.#warnings = warnings;
  }

  /** Lines that list groups, in order. */
  get lines(): readonly number[] {
    return this.#lines;
  }

  add(page: ScannedPage, line: number): void {
    const rows: GroupRow[] = [];
    eachGroup(page, (group) => rows.push(readGroup(page.tape, group, this.#warnings)));
    if (rows.length > 0) this.#lines.push(line);
    for (const row of rows) {
      const known = this.#groups.get(keyOf(row));
      if (known === undefined || later(known.row, row) === row) {
        this.#groups.set(keyOf(row), { row: detached(row), line });
      }
    }
  }

  /** The groups by the start of the day on which they opened; undefined where no group says when it did. */
  finish(): Map<number, GroupRow[]> | undefined {
    const all = [...this.#groups.values()].toSorted((a, b) => a.line - b.line);
    const { instants } = placedByPage(
      { length: all.length, page: (row) => all[row]?.line ?? 0, date: (row) => all[row]?.row.startedAt },
      undefined,
    );
    const days = new Map<number, GroupRow[]>();
    for (const [at, { row }] of all.entries()) {
      const instant = instants[at];
      if (instant === undefined) return undefined;
      const { start } = dayOf(Number(instant / 1000n));
      days.set(start, [...(days.get(start) ?? []), row]);
    }
    return days;
  }
}

/** One row for each group of two lists, in which a group may stand twice. */
export function joinedGroups(rows: readonly GroupRow[]): GroupRow[] {
  const groups = new Map<string, GroupRow>();
  for (const row of rows) {
    const known = groups.get(keyOf(row));
    groups.set(keyOf(row), known === undefined ? row : later(known, row));
  }
  return [...groups.values()];
}

/** What a group was received as. */
export function rawText({ raw }: GroupRow): string {
  return raw.page.toString('utf8', raw.start, raw.end);
}

/** One without an id is only like itself. */
function keyOf(row: GroupRow): string {
  return row.id === undefined || row.id === '' ? ` ${rawText(row)}` : row.id;
}

/**
 * Which of two states of a group is the later one: one that has its end comes after one without, and so on. Where nothing
 * tells, the greater text: whatever the order in which they come, the same one stays.
 */
function later(a: GroupRow, b: GroupRow): GroupRow {
  const order =
    compare(a.endedAt ?? -1n, b.endedAt ?? -1n) ||
    compare(Number(a.texts.processing_status !== 'Open'), Number(b.texts.processing_status !== 'Open')) ||
    compare(a.fundTransferAt ?? -1n, b.fundTransferAt ?? -1n) ||
    compare(rawText(a), rawText(b));
  return order < 0 ? b : a;
}

function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The row without the page that it came in. */
function detached(row: GroupRow): GroupRow {
  const page = Buffer.from(row.raw.page.subarray(row.raw.start, row.raw.end));
  return { ...row, raw: { page, start: 0, end: page.length } };
}
