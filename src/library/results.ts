import type { Json } from '../sources/custom/definition.js';

/** What one pipeline did in a run. */
export interface PipelineSummary {
  /** Slices that were committed. */
  readonly slices: number;
  /** Requests sent, those that were sent again included. */
  readonly requests: number;
  /** Requests sent again. */
  readonly retries: number;
  /** Requests refused for the quota. */
  readonly throttled: number;
  /** Pages received. */
  readonly pages: number;
  /** Events, or transactions, that were read. */
  readonly events: number;
  /** Amounts of them. */
  readonly entries: number;
  /** Files written. */
  readonly files: number;
  /** Their bytes. */
  readonly bytes: number;
  /** From the pipeline's beginning to its end. */
  readonly seconds: number;
  /** Rows of the slices, by table; a slice that the run read twice counts once. */
  readonly rows: Readonly<Record<string, number>>;
  /** What was unexpected in the data: how often, by kind and place. */
  readonly warnings: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Slices that could not be read, and why. */
  readonly left_open: readonly LeftOpen[];
}

/** A slice that a run could not read. The next run tries it again. */
export interface LeftOpen {
  /** `2026-01-01T00:00:00.000Z/2026-01-08T00:00:00.000Z`, `group G1`. */
  readonly slice: string;
  /** Why it was left, in a sentence. */
  readonly reason: string;
}

/** What differs in a slice that was read again. */
export interface ChangedSlices {
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly units: readonly string[];
  /** Rows that were not there when it was read last. */
  readonly appeared: number;
  /** Rows that were there. */
  readonly vanished: number;
  /** Pairs of both that share order and list, each counted above as well; of settlements those that say something else now. */
  readonly differ: number;
  /** Some of them. */
  readonly examples: readonly ChangeExample[];
}

/** A row that differs. */
export interface ChangeExample {
  /** What became of it. */
  readonly change: 'appeared' | 'vanished' | 'differs';
  /** `event_id`, or `group_id`. */
  readonly id: string;
  /** Null for a settlement. */
  readonly event_list: string | null;
  /** Null where it has none. */
  readonly amazon_order_id: string | null;
  /** ISO 8601; of a settlement its start. */
  readonly posted_at: string | null;
}

/** What differs in all slices of a pipeline that were read again. */
export interface PipelineChanges extends Pick<ChangedSlices, 'appeared' | 'vanished' | 'differ'> {
  /** By slice. */
  readonly units: readonly ChangedSlices[];
}

/** Slices that held rows, and whose answer was empty. */
export interface EmptiedSlices {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly units: readonly string[];
  /** Rows that the lake holds of them, or held where the answer was accepted. */
  readonly rows: number;
  /** How many of these the answer lacks. */
  readonly lacking: number;
  /** How many came that the lake does not hold, where the answer lacks all; left out: none. */
  readonly others?: number;
  /** Whether `acceptEmpty` replaced them. */
  readonly accepted: boolean;
}

/** Slices that were replaced without a comparison, as the lake's own file of them is damaged. */
export interface UncomparedSlices {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Load keys: `window/START/END`, `group/ID`, `order/ID`. */
  readonly units: readonly string[];
  /** What is wrong with the file. */
  readonly reason: string;
}

/** What a run came to: the object that `--json` prints. Instants are ISO 8601 in UTC. */
export interface RunSummary {
  /** `failed` only in {@link RunError}. */
  readonly status: 'done' | 'failed';
  /** Whose events were loaded. */
  readonly account: string;
  /** The lake, as it was given. */
  readonly lake: string;
  /** The range: its first instant. */
  readonly from: string;
  /** Its end, exclusive. */
  readonly to: string;
  /** From the run's beginning to its end. */
  readonly seconds: number;
  /** By the pipeline's name. */
  readonly pipelines: Readonly<Record<string, PipelineSummary>>;
  /** Of a run that read something again: what differs, by the pipeline's name. */
  readonly changes?: Readonly<Record<string, PipelineChanges>>;
  /** Of such a run: slices that held rows, and whose answer was empty. */
  readonly emptied?: readonly EmptiedSlices[];
  /** Of such a run: slices that could not be compared. */
  readonly uncompared?: readonly UncomparedSlices[];
  /** Of `sync`: how old the lake is; null where nothing has a date. */
  readonly lag_seconds?: number | null;
  /** Why the run failed. */
  readonly error?: Failure;
}

/** What a `sync` came to: it always has these. */
export type SyncSummary = RunSummary & Required<Pick<RunSummary, 'changes' | 'emptied' | 'uncompared' | 'lag_seconds'>>;

/** Why a run failed. */
export interface Failure {
  /** Of `docs/errors.md`. */
  readonly code: string;
  /** What was expected, what came and what to do. */
  readonly message: string;
}

/** What a lake holds: the object that `ledgerlake status --format json` prints. Instants are ISO 8601 in UTC. */
export interface LakeStatus {
  /** The lake, as it was given. */
  readonly lake: string;
  /** When it was looked at. */
  readonly at: string;
  /** Runs that are at work on it, or died. */
  readonly runs: readonly RunStatus[];
  /** The run that ended last, as it noted itself; null where none has. */
  readonly last_run: Readonly<Record<string, unknown>> | null;
  /** The command that loads it first; null where something is loaded. */
  readonly command: string | null;
  /** In the order of their names. */
  readonly accounts: readonly AccountStatus[];
}

/** A run that is at work on a lake, or died. */
export interface RunStatus {
  /** `died`: it has not renewed its lease, and left no word of its end. */
  readonly state: 'active' | 'died';
  /** Null where it did not say. */
  readonly command: string | null;
  /** Null where it did not say, or works on all. */
  readonly account: string | null;
  /** Names of the pipelines that it was asked for. */
  readonly pipelines: readonly string[];
  /** The machine that it runs on. */
  readonly host: string;
  /** Its process there. */
  readonly pid: number;
  /** When it began. */
  readonly started_at: string;
  /** When it last renewed its lease. */
  readonly renewed_at: string;
}

/** What a lake holds of an account. */
export interface AccountStatus {
  /** Its name. */
  readonly account: string;
  /** The range that is looked at: its first instant. */
  readonly from: string;
  /** Its end, exclusive. */
  readonly to: string;
  /** The command that loads the gaps; null where there are none. */
  readonly command: string | null;
  /** The instant before which rows were removed by `forget --before`; null where none were. */
  readonly forgotten_before: string | null;
  /** Those that have read something. */
  readonly pipelines: readonly PipelineStatus[];
  /** Pipelines of the default set of which nothing is loaded. */
  readonly not_loaded: readonly string[];
  /** Those of which nothing is loaded although a run was asked for them. */
  readonly unfinished: readonly string[];
  /** How old the newest data is up to which nothing lacks; null where nothing has a date. */
  readonly lag_seconds: number | null;
  /** Settlements that were open when they were listed last. */
  readonly open_groups: readonly GroupStatus[];
  /** Settlements that are listed, and whose events are not loaded. */
  readonly groups_to_load: readonly GroupStatus[];
  /** Where the listing seems to lack settlements. */
  readonly missing_settlements: readonly MissingSettlement[];
  /** What each table holds. */
  readonly tables: readonly TableStatus[];
}

/** What is loaded of a pipeline. */
export interface PipelineStatus {
  /** Its name. */
  readonly pipeline: string;
  /** What it reads at once: `window`, `group`, `order`. */
  readonly unit: string;
  /** How many of these were read. */
  readonly loaded: number;
  /** What of the range is not loaded. */
  readonly gaps: readonly Gap[];
  /** The days of the range; empty where slices have no dates. */
  readonly days: readonly DayStatus[];
}

/** A range that is not loaded. */
export interface Gap {
  /** Its first instant. */
  readonly from: string;
  /** Its end, exclusive. */
  readonly to: string;
}

/** What is loaded of a day. */
export interface DayStatus {
  /** `2026-01-31`. */
  readonly day: string;
  /** `empty`: loaded, and without a row. `forgotten`: its rows were removed by `forget --before`. */
  readonly state: 'full' | 'empty' | 'forgotten' | 'partial' | 'imported' | 'missing';
}

/** A settlement. */
export interface GroupStatus {
  /** Its `group_id`. */
  readonly group_id: string;
  /** Null where the service did not say. */
  readonly started_at: string | null;
  /** Null where it is open. */
  readonly ended_at: string | null;
}

/** A place where the listing seems to lack a settlement. */
export interface MissingSettlement {
  /** The instant at which it would begin or end. */
  readonly at: string;
  /** On which side of the listed one it would be. */
  readonly side: 'after' | 'before';
  /** The settlement that is listed. */
  readonly group_id: string;
}

/** What a table holds of an account. */
export interface TableStatus {
  /** Its name. */
  readonly table: string;
  /** Committed files. */
  readonly files: number;
  /** Their bytes. */
  readonly bytes: number;
  /** Their rows. */
  readonly rows: number;
}

/** The proof of a lake: the object that `ledgerlake verify --format json` prints. */
export interface Certificate {
  /** The lake, as it was given. */
  readonly lake: string;
  /** Null: all accounts. */
  readonly account: string | null;
  /** ISO 8601 in UTC. */
  readonly verified_at: string;
  /** `broken`: something is wrong with the lake; `findings`: the lake is whole, and the service contradicts itself. */
  readonly verdict: 'whole' | 'findings' | 'broken';
  /** Every check, also those without a problem. */
  readonly checks: readonly Check[];
  /** What was found; of one check the first 200. */
  readonly problems: readonly Problem[];
}

/** What became of one check. */
export interface Check {
  /** Its name, which stays: `group-totals`. */
  readonly check: string;
  /** What it looks at, in a sentence. */
  readonly about: string;
  /** How many of `counts` it looked at. */
  readonly checked: number;
  /** What it counts: `files`, `events`, `amounts` … */
  readonly counts: string;
  /** `failed`: a problem of the lake; `finding`: one of the service; `none`: there was nothing to check. */
  readonly result: 'ok' | 'failed' | 'finding' | 'note' | 'none';
  /** Problems, those that are not listed included. */
  readonly found: number;
}

/** What a check found. */
export interface Problem {
  /** Name of the check. */
  readonly check: string;
  /** Whose problem it is; a `note` is what may be as it should. */
  readonly kind: 'lake' | 'upstream' | 'note';
  /** Empty where it concerns no single table. */
  readonly table: string;
  /** Relative to the lake; empty where it concerns no single file. */
  readonly file: string;
  /** Load key; empty where it concerns no single slice. */
  readonly slice: string;
  /** What is wrong. */
  readonly problem: string;
  /** The command that mends it; null where none does. */
  readonly mend: string | null;
}

/** What an operation is asked with: the service's own parameters by their names, but for those of paging. */
export type FinancesParameters = Readonly<Record<string, string | Date | undefined>>;

/** One result of a page: an event, a settlement, a transaction, a summary, a payout. */
export interface FinancesResult {
  /** Of an event of Finances v0 the list that it is in, such as `ShipmentEventList`; empty for everything else. */
  readonly list: string;
  /** The result, as it came: numbers are exact, `raw` is its JSON byte for byte. */
  readonly json: Json;
}

/** A page. */
export interface FinancesPage {
  /** The response body, byte for byte. */
  readonly body: Uint8Array;
  /** In the order of the page. */
  readonly results: readonly FinancesResult[];
}
