import { groupSpan } from '../../sources/finances/api-v0/collectors.js';
import { groupBatch, readGroup, type GroupRow } from '../../sources/finances/model/group-rows.js';
import { newWarnings } from '../../sources/finances/model/slice-rows.js';
import { groups } from '../../sources/finances/model/tables.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { SliceCommit } from '../../lake/transaction/slice-commit.js';
import { filesToSplit } from '../../lake/loads/load-keys.js';
import type { Family } from '../../core/columns/table.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { imported, metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import { splitter } from '../maintenance/split.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import { dayOf } from '../../lake/loads/imported-days.js';
import { monthOf } from '../../core/windows.js';
import { busy, type InputFiles } from './add-events.js';
import { commitDays, storedDays, type ImportTarget } from './imported-day-files.js';
import { isoDate } from '../../core/numeric/instant.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { eachGroup, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { datesByPage } from './saved-pages.js';

/** What became of a day's groups. */
export interface AddedGroups {
  /** Groups that are new, or in a later state than before. */
  readonly groups: number;
  readonly files: number;
  readonly bytes: number;
  readonly known: number;
  readonly leftOut: number;
}

const maxAttempts = 10;

/** Adds the groups of a day to the lake, which has each once, in the latest state that was imported. */
export async function addGroups(
  target: ImportTarget,
  { workspace, files: localFiles }: InputFiles,
  family: Family,
  day: number,
  rows: readonly GroupRow[],
): Promise<AddedGroups> {
  const { lake, clock, account } = target;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const stored = storedDays(target, family, [day]);
    if (stored.open.length === 0) return { groups: 0, files: 0, bytes: 0, known: 0, leftOut: rows.length };
    // A merged file holds other days too.
    const slice: SliceCommit = {
      pipeline: family.pipeline,
      account,
      name: '',
      loadKeys: stored.loadKeys,
      tables: [family.main],
      files: [],
      refresh: true,
    };
    const mixed = filesToSplit(lake.table(family.main.name).snapshot, slice);
    if (mixed.length > 0) {
      await splitter(lake, clock, workspace.limits)(slice);
      continue;
    }
    const paths = (await localFiles.of(lake, groups, stored.files)).flatMap((month) => month.paths);
    const inLake = paths.length === 0 ? [] : await storedGroups(workspace.database, paths, day);
    const all = joinedGroups([...inLake, ...rows]);
    const texts = new Set(inLake.map(rawText));
    const added = all.filter((row) => !texts.has(rawText(row))).length;
    const known = rows.length - added;
    if (added === 0) return { groups: 0, files: 0, bytes: 0, known, leftOut: 0 };
    const fileTarget: FileTarget = { family, account, month: monthOf(day), loadKeys: stored.loadKeys };
    const batch = groupBatch(all, dayOf(day));
    const { bytes, ...about } = await encodeFile(batch, metadataOf(fileTarget));
    const file = { path: await workspace.writeLocal(bytes), ...about };
    const tags = { pipeline: family.pipeline, account, groups: JSON.stringify(all.map(groupSpan)) };
    const landed = await newFile(groups, fileTarget, file, tags, clock.now(), imported);
    const { isCommitted, ...written } = await commitDays(target, family, stored, [landed], stored.files);
    if (isCommitted) return { groups: added, ...written, known, leftOut: 0 };
  }
  throw busy(isoDate(day));
}

async function storedGroups(
  database: InputFiles['workspace']['database'],
  paths: readonly string[],
  day: number,
): Promise<GroupRow[]> {
  const rows = await database.rows(`SELECT raw FROM ${rowsIn(paths)} WHERE window_start = ${timestampLiteral(day)}`);
  return rows.map(({ raw }) => {
    const tape = new Tape();
    scan(Buffer.from(String(raw)), tape);
    tape.shadowDuplicates(0);
    return readGroup(tape, 0, newWarnings());
  });
}

/**
 * The groups that an input lists, each once: an input may hold listings of several days, in which a group was open first
 * and closed later.
 */
export class GroupList {
  readonly #groups = new Map<string, { readonly row: GroupRow; readonly line: number }>();
  readonly warnings = newWarnings();
  /** Lines that list groups, in order. */
  readonly lines: number[] = [];

  add(page: ScannedPage, line: number): void {
    const rows: GroupRow[] = [];
    eachGroup(page, (group) => rows.push(readGroup(page.tape, group, this.warnings)));
    if (rows.length > 0) this.lines.push(line);
    for (const row of rows) {
      const known = this.#groups.get(keyOf(row));
      if (known === undefined || later(known.row, row) === row) {
        this.#groups.set(keyOf(row), { row: detached(row), line });
      }
    }
  }

  /** The groups by the start of the day on which they opened; undefined where no group says when it did. */
  byDay(): Map<number, GroupRow[]> | undefined {
    const all = [...this.#groups.values()].toSorted((a, b) => a.line - b.line);
    const { instants } = datesByPage(
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

/** One row for each group of two lists, which may have a group twice. */
function joinedGroups(rows: readonly GroupRow[]): GroupRow[] {
  const groups = new Map<string, GroupRow>();
  for (const row of rows) {
    const known = groups.get(keyOf(row));
    groups.set(keyOf(row), known === undefined ? row : later(known, row));
  }
  return [...groups.values()];
}

/** What a group was received as. */
function rawText({ raw }: GroupRow): string {
  return raw.page.toString('utf8', raw.start, raw.end);
}

/** One without an id is only like itself. */
function keyOf(row: GroupRow): string {
  return row.id === undefined || row.id === '' ? ` ${rawText(row)}` : row.id;
}

/**
 * Which of two states of a group is the later one: one with an end is later than one without, and so on. Where nothing decides,
 * the greater text: the same one stays, in whatever order they are received.
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
