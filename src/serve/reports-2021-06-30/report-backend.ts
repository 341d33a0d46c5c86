import type { Window } from '../../core/windows.js';
import type { ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';

/** A report of the settlement of a window, as the list of reports has it. Instants are milliseconds since 1970. */
export interface SettlementReport extends Window {
  readonly id: string;
  readonly documentId: string;
  readonly marketplaceIds: readonly string[];
  readonly createdAt: number;
  /** When its document is ready. */
  readonly doneAt: number;
  /** Whether its document is sent as GZIP. */
  readonly isCompressed: boolean;
}

/** The document of a report. */
export interface ReportDocument {
  readonly text: string;
  readonly encoding: ReportEncoding;
}

/** A backend's settlement reports (`report-operations.ts`). */
export interface ReportBackend {
  /** The reports that are created by an instant and still kept, in any order. */
  reports(asOf: number): Promise<readonly SettlementReport[]>;
  documentOf(report: SettlementReport): Promise<ReportDocument>;
}

/** A backend that may have settlement reports. */
export interface WithReportBackend {
  /** Undefined: no reports, as for an account without a closed settlement. */
  readonly byReport?: ReportBackend | undefined;
}

/** The report with a document; undefined where the backend has none that is ready. */
export async function findReport(
  backend: ReportBackend,
  documentId: string,
  asOf: number,
): Promise<SettlementReport | undefined> {
  const reports = await backend.reports(asOf);
  return reports.find((report) => report.documentId === documentId && report.doneAt <= asOf);
}
