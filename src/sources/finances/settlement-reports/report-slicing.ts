import type { Snapshot } from '../../../lake/catalog/snapshot.js';
import { shortHash } from '../../../core/short-hash.js';
import { isoDate } from '../../../core/numeric/instant.js';
import { dayMs, type Window } from '../../../core/windows.js';
import type { Collector, Job, UnreadSlice, Reading, SlicePart, Slicing } from '../../../engine/run/pipeline.js';
import type { SliceVerdict } from '../../../engine/retry/causes.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';
import { listQueue, type Slice } from '../../../engine/run/slice-queue.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { readRequestedRanges } from '../../../lake/upkeep/requested-ranges.js';
import { settlementForecast, type ExpectedSettlements } from '../api-2024-06-19/settlement-slicing.js';
import { settlementVerdict } from '../selling-partner/refusals.js';
import { settlementSlice, unaskable } from '../selling-partner/subject-ids.js';
import { settlementsIn } from './report-document.js';
import { decodedLines } from './report-encodings.js';
import { reportLimits } from './report-operations.js';
import { readSettlement, settlementWarnings, unclearText, type SettlementRows } from './report-rows.js';
import { settlementReports, settlementReportTables } from './report-tables.js';
import type { ListedReport, ReceivedDocument, WithReports } from './reports-api.js';

const { name: pipeline } = settlementReportTables;

/** A slice that reads the document of a report. Its parts are settlements. */
export interface ReportSlice extends Slice {
  readonly report: ListedReport;
  readonly lookup: StoredSettlements;
}

/** The reports of a job. */
export interface FoundReports {
  /** Those to read, in order of creation. */
  readonly reports: readonly ListedReport[];
  /** Those that the service could not write, and that are newer than what the lake has. */
  readonly unwritten: readonly ListedReport[];
  readonly lookup: StoredSettlements;
}

/**
 * Slices that are documents of reports, one after the other in order of creation, because a newer one may restate a settlement.
 *
 * A document is read where no stored settlement names it, and where a settlement that was taken out may be in it. Two kinds are read
 * again: the document of the settlement that was stored last, as a run may have died within it, and a document all of whose settlements
 * other documents have brought, as long as the service keeps it.
 */
export function reportSlicing(expected: ExpectedSettlements): Slicing<ReportSlice, FoundReports, WithReports> {
  return {
    loadKeyKind: settlementReportTables.loadKeyKind,
    prepare: (job, reading) =>
      job.kind === 'backfill'
        ? reportsOf(job, reading, { range: job.range, isRefresh: job.refresh === true })
        : // What the service keeps is few requests.
          reportsOf(job, reading, { range: { start: -Infinity, end: Infinity }, isRefresh: false }),
    sliceQueue: (_job, found) => {
      const slices = found?.reports.map((report) => reportSlice(report, found.lookup)) ?? [];
      return Object.assign(
        listQueue(slices, 'report', () => undefined),
        { mostOpen: 1 },
      );
    },
    warnings: (_job, _now, found) => {
      const unwritten = found?.unwritten ?? [];
      if (unwritten.length === 0) return {};
      return { unwrittenReports: new Map(unwritten.map((report) => [`${reportLabel(report)}, ${report.status}`, 1])) };
    },
    forecast: ({ job, now, probed }) => {
      const range = { start: Math.max(job.range.start, now - reportLimits.keptMs), end: job.range.end };
      const request = { job: { ...job, range }, now, probed };
      const { name: table } = settlementReports;
      const sliceOf = (id: string) =>
        reportSlice(
          { id, status: '', documentId: undefined, createdAt: now, start: undefined, end: undefined },
          nothingStored,
        );
      // Without a list of settlements there is one in two weeks, at least.
      const least = Math.ceil(Math.max(0, range.end - range.start) / (usualDays * dayMs));
      const atLeast: ExpectedSettlements = (forecastRequest) => {
        const found = expected(forecastRequest);
        return found.isListed ? found : { ...found, count: Math.max(found.count, least) };
      };
      return settlementForecast(request, { pipeline, table, expected: atLeast, sliceOf });
    },
  };
}

function reportLabel({ id, createdAt }: ListedReport): string {
  return `report ${id.slice(0, 100)} of ${isoDate(createdAt)}`;
}

function reportSlice(report: ListedReport, lookup: StoredSettlements): ReportSlice {
  return {
    report,
    lookup,
    name: `report-${shortHash(report.id)}`,
    label: reportLabel(report),
    // Its settlements are known once it is read.
    loadKeys: [],
  };
}

/** Days of a settlement. */
const usualDays = 14;

const unwrittenStatuses: ReadonlySet<string> = new Set(['CANCELLED', 'FATAL']);

/** The reports to read: those that touch the range and that no stored settlement names, or all of the range to refresh. */
async function reportsOf(
  job: Job,
  reading: Reading<WithReports>,
  { range, isRefresh }: { readonly range: Window; readonly isRefresh: boolean },
): Promise<FoundReports> {
  const { lake, account } = job;
  const listed = await reading.upstream.reports.list(range.start, reading);
  const documents = await storedDocuments(job);
  const loaded = lake.snapshot.keysOf(account, pipeline);
  const keys = [...loaded.values()];
  const fromApi = keys.filter(({ origin }) => origin === 'api').toSorted((a, b) => (b.version ?? 0) - (a.version ?? 0));
  const last = documents.get(fromApi[0]?.key ?? '');
  const named = new Set(documents.values());
  const requested = (await readRequestedRanges(lake.store, account, () => undefined)).flatMap(({ ranges }) => ranges);
  const lacking = requested.filter(
    (requestedRange) =>
      requestedRange.pipeline === pipeline &&
      requestedRange.loadKey !== undefined &&
      !loaded.has(requestedRange.loadKey),
  );
  const forgottenBefore = isRefresh ? undefined : lake.snapshot.forgottenBefore(account);
  const isOf = ({ start, end, createdAt }: ListedReport, window: Window) =>
    (start ?? createdAt) < window.end && (end ?? createdAt) > window.start;
  const isWanted = (report: ListedReport) =>
    isOf(report, range) &&
    (isRefresh || report.id === last || !named.has(report.id) || lacking.some((window) => isOf(report, window)));
  const newest = Math.max(...listed.flatMap(({ id, createdAt }) => (named.has(id) ? [createdAt] : [])));
  return {
    reports: listed.filter((report) => report.documentId !== undefined && report.status === 'DONE' && isWanted(report)),
    unwritten: listed.filter(({ status, createdAt }) => unwrittenStatuses.has(status) && createdAt > newest),
    lookup: {
      createdAt: new Map(listed.map(({ id, createdAt }) => [id, createdAt])),
      documents,
      imported: new Map(keys.flatMap(({ key, origin, readAt }) => (origin === 'import' ? [[key, readAt]] : []))),
      isBegun: fromApi.length > 0,
      forgottenBefore: forgottenBefore ?? -Infinity,
    },
  };
}

/** What decides which settlements of a document are loaded. */
interface StoredSettlements {
  /** When each listed report was created, milliseconds since 1970. */
  readonly createdAt: ReadonlyMap<string, number>;
  /** The document that each load key's rows are from. */
  readonly documents: ReadonlyMap<string, string>;
  /** When each load key was imported that is; one is removed once the run has loaded it. */
  readonly imported: Map<string, number>;
  /** Whether settlements were loaded from the API before. */
  readonly isBegun: boolean;
  /** Settlements that ended before are forgotten. */
  readonly forgottenBefore: number;
}

const nothingStored: StoredSettlements = {
  createdAt: new Map(),
  documents: new Map(),
  imported: new Map(),
  isBegun: false,
  forgottenBefore: -Infinity,
};

/** The documents that stored settlements are from, by load key. */
async function storedDocuments({ lake, account }: Job): Promise<ReadonlyMap<string, string>> {
  const chosen = (snapshot: Snapshot) => snapshot.filesOf(settlementReports.name, account, pipeline);
  if (chosen(lake.snapshot).length === 0) return new Map();
  // Imported here: other runs need no DuckDB.
  const { queryFiles } = await import('../../../lake/files/month-files.js');
  const rows = await queryFiles(
    lake,
    settlementReports,
    chosen,
    'true',
    (select) => `SELECT settlement_id, document FROM (${select}) WHERE document IS NOT NULL`,
  );
  return new Map(
    rows.map(({ settlement_id: id, document }) => [loadKeyFor('settlement', String(id)), String(document)]),
  );
}

/** Whether a settlement stays as the lake has it, because that is from a newer document. */
function isLeft(key: string, { createdAt }: ListedReport, lookup: StoredSettlements): boolean {
  const importedAt = lookup.imported.get(key);
  // The first load takes imported settlements over; a later import is somebody's decision.
  if (importedAt !== undefined) return lookup.isBegun && importedAt > createdAt;
  // A document that isn't listed any more is older.
  const stored = lookup.createdAt.get(lookup.documents.get(key) ?? '') ?? -Infinity;
  return stored > createdAt;
}

/** Turns the document of a report into rows, a part for each settlement. */
export function reportCollector({ report, label, lookup }: ReportSlice): Collector<ReceivedDocument> {
  const read: { readonly part: SlicePart; readonly rows: SettlementRows }[] = [];
  const leftOpen: UnreadSlice[] = [];
  return {
    add: ({ bytes, charset }) => {
      const { settlements, faults } = settlementsIn(decodedLines(bytes, charset));
      for (const { line, found } of faults) leftOpen.push({ label: `${label}, line ${line}`, reason: found });
      for (const settlement of settlements) {
        const { name, label: settlementLabel, loadKeys } = settlementSlice(settlement.id);
        const [key = ''] = loadKeys;
        if (isLeft(key, report, lookup)) continue;
        const rows = readSettlement(settlement, report.id);
        if ('found' in rows) {
          const line = settlement.header.number;
          leftOpen.push({ label: `${label}, line ${line}`, reason: unclearText(settlement.id, rows) });
        } else if ((rows.end ?? Infinity) >= lookup.forgottenBefore) {
          lookup.imported.delete(key);
          const warnings = settlementWarnings(rows, `report ${report.id}`);
          read.push({ rows, part: { name, label: settlementLabel, loadKeys, reread: 'complete', warnings } });
        }
      }
      return settlements.length;
    },
    finish: () =>
      read.flatMap(({ part, rows: { batches, month } }) => batches.map((batch) => ({ ...batch, month, part }))),
    reach: undefined,
    warnings: {},
    holes: [],
    leftOpen,
  };
}

/** The document of a report, as the only page of its slice. */
export async function* documentPages(
  { id, documentId = '' }: ListedReport,
  reading: Reading<WithReports>,
): AsyncGenerator<ReceivedDocument> {
  const why = unaskable(documentId, { inPath: true });
  if (why !== undefined)
    throw new ReadFailure(
      'unaskable',
      'UPSTREAM_BODY',
      `expected report ${id} to have a document that can be requested, but ${why}`,
    );
  yield await reading.upstream.reports.document(documentId, reading);
}

/** The verdict on a slice that failed with an error. Without access to reports all else can still be loaded. */
export function reportsVerdict(error: unknown): SliceVerdict {
  return error instanceof ReadFailure && error.kind === 'denied' ? 'skip' : settlementVerdict(error);
}
