import { deltaStatistics } from '../../core/columns/statistics.js';
import { groupSpan } from '../../sources/finances/api-v0/collectors.js';
import { groupBatch, readGroup, type GroupRow } from '../../sources/finances/model/group-rows.js';
import { newWarnings } from '../../sources/finances/model/warnings.js';
import { groups } from '../../sources/finances/model/tables.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { SliceCommit } from '../../lake/transaction/slice-commit.js';
import { filesToSplit } from '../../lake/loads/load-keys.js';
import type { Family } from '../../lake/files/families.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import { splitter } from '../maintenance/split.js';
import { parquetFile } from '../../core/parquet/wasm.js';
import { dayOf } from '../../lake/loads/imported-days.js';
import { monthOf } from '../../core/windows.js';
import { busy, importPath, type InputFiles } from './event-days.js';
import { joinedGroups, rawText } from './group-list.js';
import { commitDays, heldDays, type ImportTarget } from './held-days.js';
import { isoDate } from '../../core/numeric/instant.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';

/** What became of a day's groups. */
export interface AddedGroups {
  /** Groups that are new, or told more of than before. */
  readonly groups: number;
  readonly files: number;
  readonly bytes: number;
  readonly known: number;
  readonly leftOut: number;
}

const mostAttempts = 10;

/** Puts the groups of a day into the lake: each stands there once, in the latest state that was imported. */
export async function addGroups(
  target: ImportTarget,
  { workspace, files: local }: InputFiles,
  family: Family,
  day: number,
  rows: readonly GroupRow[],
): Promise<AddedGroups> {
  const { lake, clock, account } = target;
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const held = heldDays(target, family, [day]);
    if (held.open.length === 0) return { groups: 0, files: 0, bytes: 0, known: 0, leftOut: rows.length };
    // A merged file holds other days too.
    const slice: SliceCommit = {
      pipeline: family.pipeline,
      account,
      name: '',
      loadKeys: held.units,
      tables: [family.main],
      files: [],
      refresh: true,
    };
    const mixed = filesToSplit(lake.table(family.main.name).snapshot, slice);
    if (mixed.length > 0) {
      await splitter(lake, clock, workspace.limits)(slice);
      continue;
    }
    const paths = (await local.of(lake, groups, held.files)).flatMap((month) => month.paths);
    const inLake = paths.length === 0 ? [] : await storedGroups(workspace.database, paths, day);
    const all = joinedGroups([...inLake, ...rows]);
    const texts = new Set(inLake.map(rawText));
    const added = all.filter((row) => !texts.has(rawText(row))).length;
    const known = rows.length - added;
    if (added === 0) return { groups: 0, files: 0, bytes: 0, known, leftOut: 0 };
    const place: FileTarget = { family, account, month: monthOf(day), loadKeys: held.units };
    const batch = groupBatch(all, dayOf(day));
    const path = await workspace.keep(await parquetFile(groups, [batch], metadataOf(place)));
    const file = { path, rows: batch.numRows, stats: deltaStatistics(groups, batch) };
    const tags = { pipeline: family.pipeline, account, groups: JSON.stringify(all.map(groupSpan)) };
    const made = await newFile(groups, place, file, tags, clock.now());
    const named = { ...made, add: { ...made.add, path: importPath(place, made), dataChange: true } };
    const { taken, ...written } = await commitDays(target, family, held, [named], held.files);
    if (taken) return { groups: added, ...written, known, leftOut: 0 };
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
