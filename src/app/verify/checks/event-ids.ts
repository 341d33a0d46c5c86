import { statementOver } from '../../../core/duckdb/sql-statements.js';
import { hash } from 'node:crypto';
import { storesRaw } from '../../../core/columns/table.js';
import { isoInstant } from '../../../core/numeric/instant.js';
import { formatCount } from '../../../core/text/amounts.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { rowsWithSource } from '../../../lake/files/local-parquet.js';
import { importedKey } from '../../../lake/loads/imported-spans.js';
import { settlementReports } from '../../../sources/finances/settlement-reports/report-tables.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import type { CheckContext, CheckDefinition, ReadEvent } from '../common/check.js';
import { derivedOf, fileOf, pathsOf, type CheckedFile } from '../common/checked-files.js';
import contentHashes from '../statements/content-hashes.sql';
import reportIds from '../statements/report-ids.sql';

export const eventIdsCheck: CheckDefinition = {
  name: 'event-ids',
  about: 'content_hash and event_id follow from raw',
  counts: 'events',
  remedy: damagedFileRemedy,
  files: async ({ schema, files, bundles }, context) => {
    const isCustomMain = schema.customPipeline !== undefined && loadKeyKindOf(schema) !== undefined;
    if (isCustomMain && storesRaw(schema)) await checkHashes(files, context);
    else if (schema.name === settlementReports.name) await checkLineIds(derivedOf(bundles), context);
  },
  event: (event, { certificate }) => {
    certificate.count(eventIdsCheck);
    certificate.addRow(eventIdsCheck, event.file, 'event', idFault(event));
  },
};

/** Returns what is wrong with an event's hash or id, or undefined. */
function idFault(event: ReadEvent): string | undefined {
  const { raw, file, windowStart, windowEnd } = event;
  const hashed = `${event.list}\0${raw}`;
  const content = hash('sha256', hashed).slice(0, 32);
  if (content !== event.contentHash) return `content_hash is ${event.contentHash}, raw hashes to ${content}`;
  const owner = event.requestedOrderId ?? event.groupId;
  const isPlain = event.isDated || windowStart === null;
  const spanEnd = !isPlain && isImported(file, windowStart, windowEnd) ? windowEnd : null;
  const span = isPlain ? [] : [windowStart, spanEnd].filter((instant) => instant !== null);
  const place = span.map((instant) => `\0${isoInstant(instant)}`).join('');
  const identity = isPlain ? content : hash('sha256', hashed + place).slice(0, 32);
  const id = owner === null ? identity : `${owner}:${identity}`;
  const rest = event.eventId.startsWith(id) ? event.eventId.slice(id.length) : 'other';
  // The `event_id` of a second, third … identical event ends with its number.
  if (rest === '' || Number(/^-([1-9]\d*)$/.exec(rest)?.[1]) >= 2) return undefined;
  return `event_id is ${event.eventId}, raw hashes to ${id}`;
}

/** Whether a file has the rows of a window as imported ones. */
function isImported({ loadKeys }: CheckedFile, start: number | null, end: number | null): boolean {
  if (start === null || end === null) return false;
  const window = { start, end };
  return loadKeys.includes(importedKey(window)) && !loadKeys.includes(windowKey(window));
}

/** Checks the hashes of a custom pipeline's table that stores its records. */
async function checkHashes(files: readonly CheckedFile[], { database, certificate }: CheckContext): Promise<void> {
  for (const { dataFile } of files) certificate.count(eventIdsCheck, dataFile.rows);
  const rows = await database.rows(
    statementOver({ read_rows: `FROM ${rowsWithSource(pathsOf(files))}` }, contentHashes),
  );
  for (const { source, found, first } of rows) {
    const text = `${String(found)} rows whose content_hash isn't that of raw, such as ${String(first)}`;
    certificate.add(eventIdsCheck, 'lake', fileOf(files, source), text);
  }
}

/** Checks the hashes and ids of the lines of settlement reports. */
async function checkLineIds(lines: readonly CheckedFile[], { database, certificate }: CheckContext): Promise<void> {
  if (lines.length === 0) return;
  for (const { dataFile } of lines) certificate.count(eventIdsCheck, dataFile.rows);
  const read = { read_lines: `FROM ${rowsWithSource(pathsOf(lines))}` };
  for (const { source, found, first: id } of await database.rows(statementOver(read, reportIds))) {
    const problem = `${formatCount(Number(found), 'line')} whose content_hash or event_id doesn't follow from raw, such as ${String(id)}`;
    certificate.add(eventIdsCheck, 'lake', fileOf(lines, source), problem);
  }
}
