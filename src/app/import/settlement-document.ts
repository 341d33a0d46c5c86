import { fileMetadata, newFile } from '../../lake/files/new-file.js';
import { basename } from 'node:path';
import { encodeFile } from '../../core/parquet/encode-file.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { NewFile } from '../../lake/commit-files.js';
import type { SliceCommit } from '../../lake/slices/slice-commit.js';
import { SliceWriter } from '../../lake/slices/slice-writer.js';
import { dayStart } from '../../core/windows.js';
import { decodeLine, encodingOf } from '../../sources/finances/settlement-reports/report-encodings.js';
import {
  isReportNames,
  mostDocumentBytes,
  settlementsIn,
  type ReportLine,
} from '../../sources/finances/settlement-reports/report-document.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import {
  readSettlement,
  settlementWarnings,
  unclearText,
  type SettlementRows,
} from '../../sources/finances/settlement-reports/report-rows.js';
import { settlementSlice } from '../../sources/finances/selling-partner/subject-ids.js';
import { findingsText } from '../reconcile/findings.js';
import { EventRevisions } from '../reconcile/reconcile-slice.js';
import type { ImportSummaries } from './import-summary.js';
import { brokenLine, type Line } from './saved-pages.js';
import type { ImportOptions } from './stored-imports.js';

/** Whether the first line of an input is the line of names of a settlement report. */
export function isReportLine({ bytes }: Line): boolean {
  return bytes !== undefined && isReportNames(bytes.toString('latin1'));
}

/** A settlement report whose lines are decoded. */
export interface SettlementDocument {
  readonly name: string;
  readonly lines: readonly ReportLine[];
}

/** The lines of a settlement report as they are read. */
export class ReportBytes {
  readonly #name: string;
  readonly #lines: { readonly number: number; readonly bytes: Buffer }[] = [];
  #bytes = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** @throws LedgerlakeError BROKEN_LINE where the document is too large to be a settlement report */
  add({ number, bytes }: Line): void {
    this.#bytes += bytes?.length ?? mostDocumentBytes;
    if (bytes === undefined || this.#bytes > mostDocumentBytes)
      throw brokenLine(this.#name, number, 'the file is too large for a settlement report; divide it by settlements');
    const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
    // A copy, because the line is valid until the next one is requested.
    this.#lines.push({ number, bytes: Buffer.from(bytes.subarray(0, end)) });
  }

  /**
   * @param encoding undefined: recognised by the bytes
   * @throws LedgerlakeError BROKEN_LINE for a line that isn't text in the given encoding
   */
  decoded(encoding = encodingOf(this.#lines.map(({ bytes }) => bytes))): SettlementDocument {
    const lines = this.#lines.map(({ number, bytes }): ReportLine => {
      try {
        return { number, raw: decodeLine(bytes, encoding) };
      } catch {
        throw brokenLine(this.#name, number, `expected text in ${encoding}, got other bytes; correct --encoding`);
      }
    });
    return { name: this.#name, lines };
  }
}

/**
 * Adds the settlements of a document to the lake, each in a commit of its own: one that the lake has with the same lines stays, one that it
 * has with others is replaced, and `event_history` keeps what differs. A settlement that can't be read is left out.
 *
 * @throws LedgerlakeError as the lake does, or the signal's reason; earlier commits stay
 */
export async function addSettlements(
  options: ImportOptions,
  workspace: Workspace,
  { name, lines }: SettlementDocument,
  summaries: ImportSummaries,
): Promise<void> {
  const { lake, clock, signal, emit } = options;
  const { name: pipeline } = roles.reports;
  const summary = summaries.of(pipeline, {});
  summary.pages++;
  const refuse = (line: number, found: string): void => {
    const reason = brokenLine(name, line, found).message;
    summaries.refused.push(reason);
    emit({ event: 'line-left-out', reason });
  };
  const revisions = new EventRevisions(lake, clock, workspace);
  const writer = new SliceWriter(lake, clock, revisions);
  const { settlements, faults } = settlementsIn(lines);
  for (const { line, found } of faults) refuse(line, found);
  for (const settlement of settlements) {
    signal.throwIfAborted();
    const rows = readSettlement(settlement, basename(name));
    if ('found' in rows) {
      refuse(settlement.header.number, unclearText(settlement.id, rows));
      continue;
    }
    const slice = await sliceOf(rows, options.account);
    const committed = await writer.commit(slice);
    // It is no window, and may be empty.
    if (typeof committed === 'string') throw new Error(`the settlement ${rows.id} is a ${committed}`);
    const { files, bytes } = committed;
    const isNew = files > 0;
    const counts = Object.fromEntries(slice.files.map(({ table, rows: length }) => [table.name, length]));
    summary.add({ rows: isNew ? counts : {}, files, bytes, known: isNew ? 0 : 1, leftOut: new Map() });
    if (isNew) emit({ event: 'rows-imported', pipeline, rows: counts, files, bytes });
    summary.extendRange([rows.start, rows.end].flatMap((at) => (at === undefined ? [] : [dayStart(at)])));
    summaries.of(pipeline, settlementWarnings(rows, name));
  }
  summaries.restated += findingsText(revisions.findings);
}

/** A settlement to commit, in files of its own. */
async function sliceOf({ id, month, batches }: SettlementRows, account: string): Promise<SliceCommit> {
  const { name: pipeline, main, derived } = roles.reports;
  const { name, label, loadKeys } = settlementSlice(id);
  const metadata = fileMetadata(pipeline, account, label);
  const about = { account, month, name, loadKeys, shared: { pipeline, account }, dataChange: true };
  const files: NewFile[] = [];
  for (const batch of batches) {
    files.push(await newFile(await encodeFile(batch, metadata), { table: batch.table, ...about }));
  }
  const origin = 'import' as const;
  return { pipeline, account, name, loadKeys, main, derived, files, reread: 'complete', acceptEmpty: true, origin };
}
