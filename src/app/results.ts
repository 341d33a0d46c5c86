import type { PipelineFigures } from '../core/events/run-event.js';

/** The result of one pipeline in a run. */
export interface PipelineSummary extends PipelineFigures {
  /** Events or transactions read. */
  readonly events: number;
  /** Their amounts. */
  readonly entries: number;
  /** Number of unexpected items in the data, by kind and place. */
  readonly warnings: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Slices that could not be read. */
  readonly left_open: readonly LeftOpen[];
}

/** A slice that a run could not read. The next run retries it. */
export interface LeftOpen {
  /** `2026-01-01T00:00:00.000Z/2026-01-08T00:00:00.000Z`, `group G1`. */
  readonly slice: string;
  /** The reason, in a sentence. */
  readonly reason: string;
}

/** The changes in slices that were read again. */
export interface ChangedSlices {
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly load_keys: readonly string[];
  /** Rows that are new. */
  readonly appeared: number;
  /** Rows that are gone. */
  readonly vanished: number;
  /** Pairs of a new and a gone row with the same order and list, which count above too; for settlements, those that changed. */
  readonly differ: number;
  /** Deferred transactions that are released now, which do not count above. */
  readonly released: number;
  /** What open settlements have gained, which does not count above: new events, and of the list changed settlements. */
  readonly grown: number;
  /** Some of them. */
  readonly examples: readonly ChangeExample[];
}

/** A row that changed. */
export interface ChangeExample {
  /** How it changed. */
  readonly change: 'appeared' | 'vanished' | 'differs';
  /** `event_id`, or `group_id`. */
  readonly id: string;
  /** Null for a settlement. */
  readonly event_list: string | null;
  /** Null: none. */
  readonly amazon_order_id: string | null;
  /** ISO 8601; the start of a settlement. */
  readonly posted_at: string | null;
}

/** The changes in all slices of a pipeline that were read again. */
export interface PipelineChanges extends Pick<
  ChangedSlices,
  'appeared' | 'vanished' | 'differ' | 'released' | 'grown'
> {
  /** By slice. */
  readonly slices: readonly ChangedSlices[];
}

/** Slices with rows in the lake and an answer that is empty, or lacks some and has parts that can't be read. */
export interface EmptiedSlices {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly load_keys: readonly string[];
  /** Their rows in the lake, before the answer replaced them. */
  readonly rows: number;
  /** Rows that the answer lacks. */
  readonly lacking: number;
  /** Rows of the answer that the lake lacks, where the answer lacks all others; left out: none. */
  readonly others?: number;
  /** Set where parts of the answer are no JSON, so that it may have what it seems to lack. */
  readonly holes?: true;
  /** Whether the answer replaced the rows, by `acceptEmpty`. */
  readonly accepted: boolean;
}

/** Slices that were replaced without a comparison, because their file in the lake is damaged. */
export interface UncomparedSlices {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly load_keys: readonly string[];
  /** The fault of the file. */
  readonly reason: string;
}

/** A version of a lake's catalog, which proves what the lake held. */
export interface CatalogVersion {
  /** Its number: 0 is the first. */
  readonly version: number;
  /** SHA-256 of its commit, which names that of the commit before it. */
  readonly hash: string;
}

/** What a copy of a lake has changed: the object that `backup` and `restore` print with `--json`. */
export interface CopySummary {
  /** Only a copy that is done has a summary. */
  readonly status: 'done';
  /** Duration. */
  readonly seconds: number;
  /** Number of data files of the version. */
  readonly files: number;
  /** Data files that were not there yet. */
  readonly copied: FileTotal;
  /** Data files that were there and that the version doesn't have. */
  readonly removed: FileTotal;
  /** Number of commits that were replaced by stubs, because `forget` or `repair` has erased them. */
  readonly erased_commits: number;
  /** The version that was copied. */
  readonly catalog: CatalogVersion;
}

/** What came and went between two versions of a lake: the object that `changes --output FILE --json` prints. */
export interface ChangesSummary {
  /** Only changes that were written completely have a summary. */
  readonly status: 'done';
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** The earlier version; null: the beginning. */
  readonly since: number | null;
  /** The version to go on from. */
  readonly catalog: CatalogVersion;
  /** By the name of the table; only tables with changes. */
  readonly tables: Readonly<Record<string, TableChanges>>;
}

/** How many rows of a table came and went. A row that changed did both. */
export interface TableChanges {
  /** Rows that came. */
  readonly inserted: number;
  /** Rows that went. */
  readonly deleted: number;
}

/** A number of files and their bytes. */
export interface FileTotal {
  /** Number of files. */
  readonly files: number;
  /** Their bytes. */
  readonly bytes: number;
}

/** The summary of a backup. */
export interface BackupSummary extends CopySummary {
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** The backup, as the caller wrote it. */
  readonly destination: string;
}

/** The summary of a restore. */
export interface RestoreSummary extends CopySummary {
  /** The restored lake, as the caller wrote it. */
  readonly lake: string;
  /** The backup, as the caller wrote it. */
  readonly source: string;
}

/** The summary of a run: the object that `--json` prints. Instants are ISO 8601 in UTC. */
export interface RunSummary {
  /** `failed` only in {@link RunError}. */
  readonly status: 'done' | 'failed';
  /** The account. */
  readonly account: string;
  /** Id of the run, as in its `run-started` event and in each line of its log. */
  readonly run: string;
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** Start of the range. */
  readonly from: string;
  /** End of the range, exclusive. */
  readonly to: string;
  /** Duration of the run. */
  readonly seconds: number;
  /** By the pipeline's name. */
  readonly pipelines: Readonly<Record<string, PipelineSummary>>;
  /** The newest version of the lake's catalog; null where the run failed before it had read it. */
  readonly catalog: CatalogVersion | null;
  /** The changes by the name of the pipeline, if slices were read again. */
  readonly changes?: Readonly<Record<string, PipelineChanges>>;
  /** Slices with rows in the lake and an empty answer, if slices were read again. */
  readonly emptied?: readonly EmptiedSlices[];
  /** Slices that were not compared, if slices were read again. */
  readonly uncompared?: readonly UncomparedSlices[];
  /** Age of the lake's data, for `sync`; null where nothing has a date. */
  readonly lag_seconds?: number | null;
  /** Whether a `sync` found no lake, and began one. */
  readonly lake_begun?: boolean;
  /** Why the run failed. */
  readonly error?: Failure;
}

/** The summary of a `sync`, which always has these members. */
export type SyncSummary = RunSummary &
  Required<Pick<RunSummary, 'changes' | 'emptied' | 'uncompared' | 'lag_seconds' | 'lake_begun'>>;

/** Why a run failed. */
export interface Failure {
  /** A code of `docs/errors.md`. */
  readonly code: string;
  /** What was expected, what was found, and what to do. */
  readonly message: string;
}

/** What an export of the views has written. */
export interface ViewsExport {
  /** Only an export that is done has a summary. */
  readonly status: 'done';
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** The folder, as the caller wrote it. */
  readonly dir: string;
  /** Number of views. */
  readonly views: number;
}

/** What an export of settlement reports has written. */
export interface SettlementReportsExport {
  /** `failed`: a closed settlement was not written. */
  readonly status: 'done' | 'failed';
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** The folder, as the caller wrote it. */
  readonly dir: string;
  /** Number of reports. */
  readonly settlements: number;
  /** Number of their lines. */
  readonly lines: number;
  /** The closed settlements that the lake doesn't hold whole. */
  readonly not_written: readonly {
    /** Its account. */
    readonly account: string;
    /** Its id. */
    readonly settlement: string;
    /** What it lacks, in a sentence. */
    readonly reason: string;
  }[];
}

/** What an export of journals has written. */
export interface JournalExport {
  /** Only an export that is done has a summary. */
  readonly status: 'done';
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** The version of the lake's catalog that the journals are made from, for `since` of a later export. */
  readonly version: number;
  /** Number of journals. */
  readonly journals: number;
  /** Number of their lines. */
  readonly lines: number;
  /** The files. */
  readonly files: readonly string[];
}

/** The state of a lake: the object that `ledgerlake status --format json` prints. Instants are ISO 8601 in UTC. */
export interface LakeStatus {
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** When the state was read. */
  readonly at: string;
  /** Runs that are active or died. */
  readonly runs: readonly RunStatus[];
  /** The note of the last run of any account; null where no run has ended. */
  readonly last_run: Readonly<Record<string, unknown>> | null;
  /** The note of the last run of each account, the newest first. */
  readonly last_runs: readonly Readonly<Record<string, unknown>>[];
  /** The newest version of the lake's catalog; null where nothing was ever committed. */
  readonly catalog: CatalogVersion | null;
  /** Hours for which replaced files stay. */
  readonly retention_hours: number;
  /** The command that loads an empty lake; null where something is loaded. */
  readonly command: string | null;
  /** Sorted by name. */
  readonly accounts: readonly AccountStatus[];
}

/** A run that is active on a lake, or died. */
export interface RunStatus {
  /** `died`: it has neither renewed nor released its lease. */
  readonly state: 'active' | 'died';
  /** Null: unknown. */
  readonly command: string | null;
  /** Null: unknown, or all accounts. */
  readonly account: string | null;
  /** Names of the requested pipelines. */
  readonly pipelines: readonly string[];
  /** Its machine. */
  readonly host: string;
  /** Its process id. */
  readonly pid: number;
  /** When it started. */
  readonly started_at: string;
  /** When it last renewed its lease. */
  readonly renewed_at: string;
}

/** The state of an account in a lake. */
export interface AccountStatus {
  /** Its name. */
  readonly account: string;
  /** Start of the range. */
  readonly from: string;
  /** End of the range, exclusive. */
  readonly to: string;
  /** The command that loads the gaps; null where there are none. */
  readonly command: string | null;
  /** The instant before which rows were removed by `forget --before`; null where none were. */
  readonly forgotten_before: string | null;
  /** Pipelines that have loaded something. */
  readonly pipelines: readonly PipelineStatus[];
  /** Default pipelines that have loaded nothing. */
  readonly not_loaded: readonly string[];
  /** Requested pipelines that have loaded nothing. */
  readonly unfinished: readonly string[];
  /** Age of the watermark, up to which everything is loaded; null where nothing has a date. */
  readonly lag_seconds: number | null;
  /** Start of the newest days that every pipeline with dates has without a gap; null where there are none. */
  readonly complete_from: string | null;
  /** Their end, exclusive. */
  readonly complete_to: string | null;
  /** Settlements that were open in the newest listing. */
  readonly open_groups: readonly GroupStatus[];
  /** Listed settlements whose events are not loaded. */
  readonly groups_to_load: readonly GroupStatus[];
  /** Settlements that the listing seems to lack. */
  readonly missing_settlements: readonly MissingSettlement[];
  /** Events that could not be read, and are left out. */
  readonly holes: readonly UnreadEvent[];
  /** What the lake has of settlement reports; null where it has none. */
  readonly settlement_reports: SettlementReportsStatus | null;
  /** The tables. */
  readonly tables: readonly TableStatus[];
}

/** What a lake has of settlement reports, which the service keeps for 90 days. */
export interface SettlementReportsStatus {
  /** The end of the last settlement; null where no report has one. */
  readonly ended_at: string | null;
  /** When a run read the service's reports last; null where all were imported. */
  readonly listed_at: string | null;
  /** From when on the service may not have a report that was written since then; null while that is far. */
  readonly lost_from: string | null;
  /** Closed settlements without a report, which the service has for a few more days. */
  readonly expiring_groups: readonly GroupStatus[];
  /** The command that loads them; null where that is not due. */
  readonly command: string | null;
}

/** An event that could not be read: of a page of the API, or of a line of an imported file. Numbers from 0. */
export interface UnreadEvent {
  /** The name of its pipeline. */
  readonly pipeline: string;
  /** The load key: `window/…`, `group/…`, `order/…`, `imported/…`. */
  readonly load_key: string;
  /** The number of the page in the slice; of an API only. */
  readonly page?: number;
  /** The id that the API gave the request; of an API only. */
  readonly request_id?: string | null;
  /** The name of the file; of an import only. */
  readonly file?: string;
  /** The number of the line; of an import only. */
  readonly line?: number;
  /** Where the event begins in the page or line; not of a settlement that the API refuses. */
  readonly byte?: number;
  /** The number of events behind which the API refuses to return the whole settlement, as it is too large; of such a one only. */
  readonly refused_after?: number;
}

/** The state of a pipeline. */
export interface PipelineStatus {
  /** Its name. */
  readonly pipeline: string;
  /** The kind of its slices: `window`, `group`, `order`. */
  readonly sliced_by: string;
  /** Number of loaded slices. */
  readonly loaded: number;
  /** The load keys of settlements whose report `repair` took out, and that no run has loaded again. */
  readonly taken_out: readonly string[];
  /** The parts of the range that are not loaded. */
  readonly gaps: readonly Gap[];
  /** The days of the range; empty where slices have no dates. */
  readonly days: readonly DayStatus[];
}

/** A range that is not loaded. */
export interface Gap {
  /** Start. */
  readonly from: string;
  /** End of the range, exclusive. */
  readonly to: string;
}

/** The state of a day. */
export interface DayStatus {
  /** `2026-01-31`. */
  readonly day: string;
  /** `empty`: loaded, without rows. `forgotten`: its rows were removed by `forget --before`. */
  readonly state: 'full' | 'empty' | 'forgotten' | 'partial' | 'imported' | 'missing';
}

/** A settlement. */
export interface GroupStatus {
  /** Its `group_id`. */
  readonly group_id: string;
  /** Null: unknown. */
  readonly started_at: string | null;
  /** Null: open. */
  readonly ended_at: string | null;
}

/** A settlement that the listing seems to lack. */
export interface MissingSettlement {
  /** The instant at which it begins or ends. */
  readonly at: string;
  /** Its side of the listed settlement. */
  readonly side: 'after' | 'before';
  /** The listed settlement. */
  readonly group_id: string;
}

/** The committed files of a table for an account. */
export interface TableStatus {
  /** Its name. */
  readonly table: string;
  /** Number of files. */
  readonly files: number;
  /** Bytes of these files. */
  readonly bytes: number;
  /** Their rows. */
  readonly rows: number;
  /** Number of their amounts that no sum has, because DECIMAL(18,6) cannot hold them. */
  readonly unsummed: number;
}

/** The certificate of a lake: the object that `ledgerlake verify --format json` prints. */
export interface Certificate {
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** Null: all accounts. */
  readonly account: string | null;
  /** ISO 8601 in UTC. */
  readonly verified_at: string;
  /** The version of the lake's catalog that was verified; null where nothing was ever committed. */
  readonly catalog: CatalogVersion | null;
  /** `broken`: the lake has problems; `findings`: only the service contradicts itself. */
  readonly verdict: 'whole' | 'findings' | 'broken';
  /** All checks, also those without problems. */
  readonly checks: readonly Check[];
  /** The problems, at most 200 of each check. */
  readonly problems: readonly Problem[];
}

/** The result of one check. */
export interface Check {
  /** Its name, which is stable: `group-totals`. */
  readonly check: string;
  /** What it checks, in a sentence. */
  readonly about: string;
  /** How many of `counts` it checked. */
  readonly checked: number;
  /** What it counts: `files`, `events`, `amounts` … */
  readonly counts: string;
  /** `failed`: a problem of the lake; `finding`: one of the service; `none`: nothing to check. */
  readonly result: 'ok' | 'failed' | 'finding' | 'note' | 'none';
  /** Number of problems, including those that are not listed. */
  readonly found: number;
}

/** A problem that a check found. */
export interface Problem {
  /** Name of the check. */
  readonly check: string;
  /** The side that has the problem; a `note` may be none. */
  readonly kind: 'lake' | 'upstream' | 'note';
  /** Empty: no single table. */
  readonly table: string;
  /** Relative to the lake; empty: no single file. */
  readonly file: string;
  /** Load key; empty: no single slice. */
  readonly slice: string;
  /** The problem, in a sentence. */
  readonly problem: string;
  /** The command that repairs it; null: none. */
  readonly command: string | null;
}

/** The state of what `doctor` examined: `ok`; `warning`: worth knowing; `fault`: something must be done. */
export type DoctorState = 'ok' | 'warning' | 'fault';

/** The report of `doctor`: the object that `ledgerlake doctor --json` prints. */
export interface DoctorReport {
  /** The lake, as the caller wrote it. */
  readonly lake: string;
  /** ISO 8601 in UTC. */
  readonly at: string;
  /** The worst state of all findings. */
  readonly state: DoctorState;
  /** What was found, in the order of the groups. */
  readonly findings: readonly DoctorFinding[];
}

/** A finding of `doctor`. */
export interface DoctorFinding {
  /** What was examined. */
  readonly group: 'configuration' | 'credentials' | 'clock' | 'store' | 'disk' | 'lake' | 'versions';
  /** Null: no single account. */
  readonly account: string | null;
  /** Whether something has to be done. */
  readonly state: DoctorState;
  /** What was found, and after a semicolon what to do. */
  readonly found: string;
  /** The command that mends it; null: none. */
  readonly command: string | null;
}
