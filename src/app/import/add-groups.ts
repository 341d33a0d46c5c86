import { metadataOf, nameOf, newFile } from '../../lake/files/new-file.js';
import { groupSpan } from '../../sources/finances/api-v0/collectors.js';
import { instantsByPage } from '../../sources/finances/api-v0/effective-instants.js';
import { groupBatch, readGroup, type GroupRow } from '../../sources/finances/api-v0/group-rows.js';
import { newWarnings } from '../../sources/finances/model/slice-rows.js';
import { groups } from '../../sources/finances/api-v0/event-tables.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { SliceCommit } from '../../lake/slices/slice-commit.js';
import { overNewest } from '../../lake/over-newest.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { replacementOf } from '../../lake/slices/slice-replacement.js';
import { compare } from '../../core/compare.js';
import type { PipelineTables } from '../../core/columns/table.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { remainderOf } from '../../lake/slices/remainder.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import { dayOf, importedKey } from '../../lake/loads/imported-spans.js';
import { monthOf, overlap } from '../../core/windows.js';
import type { AddedRows } from './import-summary.js';
import {
  commitImported,
  storedRows,
  type ImportTarget,
  type FileHole,
  type KeyHoles,
  type StoredReading,
} from './stored-imports.js';
import { millisecondsOf } from '../../core/numeric/instant.js';
import type { Database } from '../../core/duckdb/connection.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { eachGroup, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';

const nothing: AddedRows = { rows: { groups: 0 }, files: 0, bytes: 0, known: 0, leftOut: new Map() };

/** Adds the groups of a day to the lake, which has each group once, in the latest state that was imported. */
export async function addGroups(
  target: ImportTarget,
  { workspace, files: localFiles }: StoredReading,
  pipeline: PipelineTables,
  day: number,
  rows: readonly GroupRow[],
): Promise<AddedRows> {
  const { lake, account } = target;
  const { name, main, derived } = pipeline;
  const loadKeys = [importedKey(dayOf(day))];
  const slice: SliceCommit = {
    pipeline: name,
    account,
    name: '',
    loadKeys,
    main,
    derived,
    files: [],
    reread: 'complete',
  };
  const choose = (snapshot: Snapshot) =>
    [
      storedRows(snapshot, account, pipeline, (window) => overlap(window, dayOf(day))),
      // Of a merged file the rows of other days stay.
      replacementOf(snapshot, slice),
    ] as const;
  return overNewest(lake, choose, async (over) => {
    const [stored, replacement] = over;
    if (stored.loaded.length > 0) return { ...nothing, leftOut: new Map([[day, rows.length]]) };
    const paths = (await localFiles.of(stored.files)).flatMap((month) => month.paths);
    const inLake = paths.length === 0 ? [] : await storedGroups(workspace.database, paths, day);
    const all = joinedGroups([...inLake, ...rows]);
    const texts = new Set(inLake.map(rawText));
    const added = all.filter((row) => !texts.has(rawText(row))).length;
    const known = rows.length - added;
    if (added === 0) return { ...nothing, known };
    const batch = { table: groups, rows: groupBatch(all, dayOf(day)) };
    const month = monthOf(day);
    const newGroups = await newFile(await encodeFile(batch, metadataOf(name, { account, loadKeys })), {
      table: groups,
      account,
      month,
      name: nameOf('import', { loadKeys, month }),
      loadKeys,
      shared: { pipeline: name, account },
      groups: all.map(groupSpan),
      dataChange: true,
    });
    const remainder = await remainderOf({ lake, workspace }, replacement);
    const files = [newGroups, ...remainder.files];
    const written = await commitImported(target, pipeline, { over, files, loadKeys, replaced: stored.files });
    return { ...nothing, rows: { groups: added }, ...written, known };
  });
}

async function storedGroups(database: Database, paths: readonly string[], day: number): Promise<GroupRow[]> {
  const rows = await database.rows(`SELECT raw FROM ${rowsIn(paths)} WHERE window_start = ${timestampLiteral(day)}`);
  return rows.map(({ raw }) => {
    const tape = new Tape();
    scan(Buffer.from(String(raw)), tape);
    tape.shadowDuplicates(0);
    return readGroup(tape, 0, newWarnings());
  });
}

/** The groups that an input lists, by day. */
export interface DayGroups {
  /** By the start of the day on which they opened. */
  readonly rows: ReadonlyMap<number, readonly GroupRow[]>;
  /** The ones that could not be read, by each load key that the input fills. */
  readonly holes: KeyHoles;
}

/**
 * The groups that an input lists, each once in its latest state: an input may have listings of several days, with a group open
 * in one and closed in a later one.
 */
export class GroupList {
  readonly #groups = new Map<string, { readonly row: GroupRow; readonly line: number }>();
  readonly warnings = newWarnings();
  /** Lines that list groups, in order. */
  readonly lines: number[] = [];
  /** The groups that could not be read, by the line. */
  readonly holes: { readonly line: number; readonly hole: FileHole }[] = [];

  add(page: ScannedPage, line: number): void {
    const rows: GroupRow[] = [];
    eachGroup(page, (group) => rows.push(readGroup(page.tape, group, this.warnings)));
    if (rows.length > 0) this.lines.push(line);
    for (const row of rows) {
      const known = this.#groups.get(importedGroupKey(row));
      if (known === undefined || laterGroup(known.row, row) === row) {
        this.#groups.set(importedGroupKey(row), { row: detached(row), line });
      }
    }
  }

  /** The groups, and the ones that could not be read, by the days on which they opened; undefined where no group has an opening date. */
  byDay(): DayGroups | undefined {
    const all = [...this.#groups.values(), ...this.holes].toSorted((a, b) => a.line - b.line);
    const opened = all.map((one) => ('row' in one ? one.row.startedAt : undefined));
    const instants = instantsByPage({ length: all.length, page: (at) => all[at]?.line ?? 0, date: (at) => opened[at] });
    const rows = new Map<number, GroupRow[]>();
    const holes = new Map<string, FileHole[]>();
    for (const [at, one] of all.entries()) {
      const instant = opened[at] ?? instants.get(one.line);
      if (instant === undefined) return undefined;
      const day = dayOf(millisecondsOf(instant));
      const key = importedKey(day);
      const ofDay = holes.get(key) ?? [];
      holes.set(key, ofDay);
      if ('hole' in one) ofDay.push(one.hole);
      else rows.set(day.start, [...(rows.get(day.start) ?? []), one.row]);
    }
    return { rows, holes };
  }
}

/** One row for each group, in its latest state. */
function joinedGroups(rows: readonly GroupRow[]): GroupRow[] {
  const groups = new Map<string, GroupRow>();
  for (const row of rows) {
    const known = groups.get(importedGroupKey(row));
    groups.set(importedGroupKey(row), known === undefined ? row : laterGroup(known, row));
  }
  return [...groups.values()];
}

/** The bytes of a group as they were received. */
function rawText({ raw }: GroupRow): string {
  return raw.page.toString('utf8', raw.start, raw.end);
}

/** A group's id, or its raw text where it has none. */
function importedGroupKey(row: GroupRow): string {
  return row.id === undefined || row.id === '' ? ` ${rawText(row)}` : row.id;
}

/**
 * The later of two states of a group: one with an end is later than one without, and so on. Where no field decides, it is the
 * greater text, so that the order of receipt doesn't matter.
 */
function laterGroup(a: GroupRow, b: GroupRow): GroupRow {
  const order =
    compare(a.endedAt ?? -1n, b.endedAt ?? -1n) ||
    compare(Number(a.texts.processing_status !== 'Open'), Number(b.texts.processing_status !== 'Open')) ||
    compare(a.fundTransferAt ?? -1n, b.fundTransferAt ?? -1n) ||
    compare(rawText(a), rawText(b));
  return order < 0 ? b : a;
}

/** The row with a copy of its bytes, without its page. */
function detached(row: GroupRow): GroupRow {
  const page = Buffer.from(row.raw.page.subarray(row.raw.start, row.raw.end));
  return { ...row, raw: { page, start: 0, end: page.length } };
}
