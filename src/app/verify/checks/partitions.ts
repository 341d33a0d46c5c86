import { hasEvents } from '../../../core/columns/table.js';
import { spanIn, loadKeyFor, type LoadKeyKind } from '../../../lake/catalog/load-key.js';
import { timestampLiteral } from '../../../core/duckdb/literals.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { monthOf, monthRange, overlap, type Window } from '../../../core/windows.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { instantColumn, loadKeyCondition } from '../../../lake/files/load-key-rows.js';
import { countRows, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { importedKey, loadedOf } from '../../../lake/loads/imported-spans.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { fileOf, pathsOf, type CheckedFile, type TableFiles } from '../common/checked-files.js';

export const partitionsCheck: CheckDefinition = {
  name: 'partitions',
  about: 'rows are in the folder and the slice that they belong to',
  counts: 'files',
  remedy: damagedFileRemedy,
  files: checkPartitions,
};

/** In SQL, by kind of load key: owner, first instant and end of the slices of the rows. */
const slices: Readonly<Record<LoadKeyKind, string>> = {
  window: 'NULL, epoch_ms(window_start), epoch_ms(window_end)',
  group: 'group_id, epoch_ms(window_start), NULL',
  order: 'requested_order_id, epoch_ms(min(posted_at)), NULL',
  settlement: 'settlement_id, NULL, NULL',
};

/** Compares windows, groups or orders of the rows with the load keys of their file and the month of its folder. */
async function checkPartitions(
  { schema, files }: TableFiles,
  { lake, database, certificate }: CheckContext,
): Promise<void> {
  const kind = loadKeyKindOf(schema);
  if (kind === undefined) return;
  certificate.count(partitionsCheck, files.length);
  const claims = files.map(({ dataFile: { month }, loadKeys, account }) => ({
    month,
    loadKeys: new Set(loadKeys),
    forgottenBefore: lake.snapshot.forgottenBefore(account),
  }));
  const { chunks } = await database.query(
    `SELECT ${sourceColumn}, ${slices[kind]} FROM ${rowsWithSource(pathsOf(files))} GROUP BY ALL`,
  );
  for await (const rows of chunks) {
    for (const [source = null, owner = null, start = null, end = null] of rows) {
      const claim = claims[Number(source)];
      if (claim === undefined) continue;
      const fault = kind === 'window' ? windowFault(start, end, claim) : ownerFault(kind, owner, start, claim);
      certificate.addRow(partitionsCheck, fileOf(files, source), 'slice', fault);
    }
  }
  for (const file of files) {
    const addFault = (fault: string) => {
      certificate.addRow(partitionsCheck, file, 'slice', fault);
    };
    const spans = file.loadKeys.flatMap((key) => spanIn('imported', key) ?? []);
    if (spans.length === 0) continue;
    const isImported = loadKeyCondition(spans.map(importedKey));
    const outside = await countRows(database, file.path, `${isImported} AND NOT (${isInPlace(file)})`);
    if (outside > 0) addFault(`${formatCount(outside, 'imported row')} outside of their days or month`);
    const loaded = loadedOf(lake.snapshot.keysOf(file.account, file.dataFile.pipeline).values()).filter((window) =>
      spans.some((span) => overlap(span, window)),
    );
    const twice = await countRows(database, file.path, `${isImported} AND ${isInWindows(file, loaded)}`);
    if (twice > 0) addFault(`${formatCount(twice, 'imported row')} of loaded windows: rows may occur twice`);
  }
}

/** In SQL: whether an imported row lies in its days and in the month of its folder. */
function isInPlace({ schema, dataFile }: CheckedFile): string {
  const instant = instantColumn(schema);
  const range = monthRange(dataFile.month);
  const isInSpan = `${instant} >= window_start AND ${instant} < window_end`;
  return range === undefined ? isInSpan : `${isInSpan} AND ${withinWindow(instant, range)}`;
}

/** In SQL: whether an imported row is of windows: by its date, without one by all of its days. */
function isInWindows({ schema }: CheckedFile, windows: readonly Window[]): string {
  const instant = instantColumn(schema);
  const isDated = hasEvents(schema) ? 'posted_at IS NOT NULL AND ' : '';
  const inEach = windows.map((window) => {
    const ofDays = `window_start >= ${timestampLiteral(window.start)} AND window_end <= ${timestampLiteral(window.end)}`;
    return `(${isDated}${withinWindow(instant, window)}) OR (${ofDays})`;
  });
  return inEach.length === 0 ? 'false' : `(${inEach.join(' OR ')})`;
}

function withinWindow(instant: string, { start, end }: Window): string {
  return `${instant} >= ${timestampLiteral(start)} AND ${instant} < ${timestampLiteral(end)}`;
}

/** What a file says about its rows. */
interface Claims {
  readonly month: string;
  readonly loadKeys: ReadonlySet<string>;
  /** The instant before which rows of the account's orders were forgotten, milliseconds since 1970. */
  readonly forgottenBefore: number | undefined;
}

function windowFault(start: ResultCell, end: ResultCell, { loadKeys, month }: Claims): string | undefined {
  if (start === null || end === null) return 'rows without a window';
  const window = { start: Number(start), end: Number(end) };
  const loadKey = windowKey(window);
  if (!loadKeys.has(loadKey) && loadKeys.has(importedKey(window))) return undefined;
  if (!loadKeys.has(loadKey)) return `rows of ${loadKey}, which the file does not name`;
  if (monthOf(window.start) !== monthOf(window.end - 1)) return `${loadKey} crosses the end of a month`;
  return monthOf(window.start) === month ? undefined : `rows of ${loadKey} in the folder of ${month}`;
}

function ownerFault(
  kind: Exclude<LoadKeyKind, 'window'>,
  owner: ResultCell,
  instant: ResultCell,
  { loadKeys, month, forgottenBefore }: Claims,
): string | undefined {
  const loadKey = loadKeyFor(kind, String(owner));
  if (!loadKeys.has(loadKey)) return `rows of ${loadKey}, which the file does not name`;
  // A group without a start lies in the month of the window that listed it; a settlement's summary in that of its
  // transactions.
  if (instant === null && kind !== 'order') return undefined;
  const expected = instant === null ? 'unknown' : monthOf(Number(instant));
  // Rows of an order lie in the month of its first event, also where that one is forgotten.
  if (forgottenBefore !== undefined && month < expected && month <= monthOf(forgottenBefore)) return undefined;
  return expected === month ? undefined : `rows of ${loadKey}, which belongs to ${expected}, in the folder of ${month}`;
}
