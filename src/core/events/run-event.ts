/**
 * An event of a run, as the listeners receive it: plain log, JSON log, live view, metrics. The JSON log writes events unchanged,
 * so fields are JSON, instants ISO 8601 in UTC, and no field is a secret. `docs/logs.md` describes all events.
 */
export type RunEvent = EventOf<RunEvents> | (SliceEvent & UpstreamEvent);

type EventOf<Events> = { [Name in keyof Events]: { readonly event: Name } & Events[Name] }[keyof Events];

/** Receives an event when it happens. Never throws. */
export type Emit = (event: RunEvent) => void;

/** An event of the requests for a slice; the runner adds the slice. */
export type UpstreamEvent = EventOf<UpstreamEvents>;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The level of each event. `error`: also logged with `--quiet`; `debug`: only with `--verbose`. */
export const levels: Readonly<Record<RunEvent['event'], LogLevel>> = {
  'run-started': 'info',
  'run-ended': 'info',
  stopping: 'info',
  failed: 'error',
  message: 'info',
  'metrics-served': 'info',
  'metrics-not-written': 'warn',
  'notify-failed': 'error',
  'metrics-not-served': 'warn',
  'pipeline-planned': 'info',
  'pipeline-ended': 'info',
  'slice-opened': 'debug',
  'page-read': 'debug',
  'slice-committed': 'info',
  'slice-failed': 'warn',
  'slice-conflict': 'info',
  'slice-closed': 'debug',
  'request-sent': 'debug',
  'answer-slow': 'warn',
  'request-answered': 'debug',
  'request-failed': 'debug',
  'service-awaited': 'warn',
  'clock-differs': 'warn',
  'secret-exposed': 'warn',
  'variable-misspelt': 'warn',
  'bucket-changed': 'debug',
  'rate-unfit': 'warn',
  'watermark-moved': 'debug',
  'lake-lags': 'error',
  'gap-left': 'warn',
  'lake-begun': 'warn',
  'api-left': 'warn',
  'days-left-out': 'warn',
  'state-not-kept': 'warn',
  'state-temporary': 'warn',
  'note-not-written': 'warn',
  'store-limited': 'warn',
  'note-passed-over': 'warn',
  'checkpoint-damaged': 'warn',
  'orphan-deleted': 'debug',
  'orphans-deleted': 'info',
  'orphans-left': 'warn',
  'lake-exported': 'info',
  'export-failed': 'warn',
  'inputs-planned': 'debug',
  'input-read': 'debug',
  'input-ended': 'info',
  'line-left-out': 'warn',
  'hole-left': 'warn',
  'rows-imported': 'info',
  'files-planned': 'info',
  'files-merged': 'info',
  'entries-checked': 'debug',
  'file-unread': 'warn',
  'worker-started': 'info',
  'worker-draining': 'info',
  'turn-started': 'info',
  'turn-ended': 'info',
  'account-warned': 'warn',
  'queue-warning': 'warn',
  'queue-counted': 'debug',
  'queue-lost': 'warn',
  'queue-back': 'warn',
  'queue-failed': 'warn',
};

/** The figures of one pipeline in a run. */
export interface PipelineFigures {
  /** Committed slices. */
  readonly slices: number;
  /** Requests, including retries. */
  readonly requests: number;
  /** Retries. */
  readonly retries: number;
  /** Requests that the service throttled. */
  readonly throttled: number;
  /** Pages received. */
  readonly pages: number;
  /** Rows of the slices, by table. A slice that was read twice counts once. */
  readonly rows: Readonly<Record<string, number>>;
  /** Files written. */
  readonly files: number;
  /** Bytes of these files. */
  readonly bytes: number;
  /** Duration of the pipeline. */
  readonly seconds: number;
}

interface SliceEvent {
  readonly pipeline: string;
  /** `2026-01-01T00:00:00.000Z/2026-01-08T00:00:00.000Z`, `group G1`. */
  readonly slice: string;
}

interface UpstreamEvents {
  'request-sent': {
    readonly operation: string;
    /** 1 for the first attempt, 2 and more for retries. */
    readonly attempt: number;
    /** Why the request is retried, as in `request-failed`; null for the first attempt. */
    readonly cause: string | null;
  };
  /** An answer has taken half a minute, or another half. */
  'answer-slow': {
    readonly operation: string;
    /** Time since the request was sent. */
    readonly seconds: number;
    /** Bytes of the body received so far. */
    readonly bytes: number;
  };
  /** A page was received completely. */
  'request-answered': {
    readonly operation: string;
    /** Time from the request to its complete answer. */
    readonly seconds: number;
    readonly bytes: number;
    readonly requestId: string | null;
  };
  'request-failed': {
    readonly operation: string;
    /** `throttled`, `fault`, `cursor-expired` …: see `docs/quota.md`. */
    readonly cause: string;
    readonly status: number | null;
    readonly requestId: string | null;
    /** Whether the request is retried, and after what delay. */
    readonly again: boolean;
    readonly waitSeconds: number;
  };
}

interface RunEvents {
  'run-started': {
    /** The id of its lease; null where it has none yet. */
    readonly run: string | null;
    /** `backfill`. */
    readonly command: string;
    /** null: all accounts of the lake. */
    readonly account: string | null;
    /** As the user wrote it. */
    readonly lake: string;
    /** Names, in the order of the list of pipelines. */
    readonly pipelines: readonly string[];
    /** The range, where there is one. */
    readonly from: string | null;
    readonly to: string | null;
  };
  'run-ended': { readonly status: 'done' | 'failed'; readonly seconds: number };
  /** A signal has stopped the run: complete slices are still committed. */
  stopping: object;
  /** Why the command exits with a code other than 0. */
  failed: {
    /** A code of `src/core/errors.ts`; `UNKNOWN` for any other error. */
    readonly code: string;
    readonly message: string;
    readonly exitCode: number;
    /** Details that the plain log shows with `--verbose`, such as the request id. */
    readonly details: string | null;
    /** The stack trace, for `--verbose`. */
    readonly stack: string | null;
  };
  /** A line for people, of a command that isn't a run. */
  message: { readonly message: string };
  'metrics-served': { readonly address: string };
  'metrics-not-written': { readonly file: string; readonly reason: string };
  /** The address of the setting `notify` has not accepted how a command ended. */
  'notify-failed': { readonly reason: string };
  'metrics-not-served': { readonly reason: string };
  'pipeline-planned': {
    readonly pipeline: string;
    /** What is left to load: `92 days`, `3 groups`; empty for nothing. */
    readonly left: string;
  };
  'pipeline-ended': PipelineFigures & { readonly pipeline: string };
  'slice-opened': SliceEvent & {
    /** Expected number of pages left of the pipeline, open slices included; null while unknown. */
    readonly pagesLeft: number | null;
  };
  /** A page, received now or by an earlier run, was added to its slice. */
  'page-read': SliceEvent & { readonly results: number; readonly pagesLeft: number | null };
  'slice-committed': SliceEvent & {
    /** Rows read, by table. */
    readonly rows: Readonly<Record<string, number>>;
    /** Files written, and their bytes. */
    readonly files: number;
    readonly bytes: number;
    /** What hasn't been started yet; empty for nothing. */
    readonly left: string;
  };
  /** A slice could not be read as attempted. */
  'slice-failed': SliceEvent & {
    readonly verdict: 'skip' | 'split' | 'shorten' | 'retry';
    /** `too-large`, `bound-too-late`, `fault` …; null where reading didn't fail. */
    readonly cause: string | null;
    readonly reason: string;
  };
  /** Another run has loaded the slice meanwhile: the pages read are dropped. */
  'slice-conflict': SliceEvent;
  /** The slice that was opened is committed, its parts too, or won't be read in this way. */
  'slice-closed': SliceEvent;
  /** This machine's clock differs from the API's. `seconds`: to add to ours. */
  'clock-differs': { readonly seconds: number };
  /** A long wait for the service has begun; reported once a minute at most. */
  'service-awaited': {
    readonly operation: string;
    readonly cause: string;
    /** The last error of the service or the network. */
    readonly reason: string;
    /** When the request is retried. */
    readonly until: string;
  };
  /** A file with secrets is readable by all users of this machine. */
  'secret-exposed': { readonly file: string };
  /** A variable of the environment is not read, and resembles one that is. */
  'variable-misspelt': { readonly variable: string; readonly nearest: string };
  /** A token was taken, or the rate has changed. */
  'bucket-changed': {
    readonly operation: string;
    /** Tokens a second. */
    readonly rate: number;
    readonly burst: number;
    /** Tokens available, with the fraction of the next one. */
    readonly tokens: number;
    /** Time until a token is available; 0: one is. */
    readonly nextTokenSeconds: number;
  };
  /** The service reports an implausible rate; emitted once for each operation of a run. */
  'rate-unfit': {
    readonly operation: string;
    /** The rate as received, at most 40 characters. */
    readonly named: string;
    /** Requests a second that are sent instead. */
    readonly rate: number;
  };
  /**
   * The instant up to which the lake has everything that a sync loads of a pipeline, and the one from which on it has everything up
   * to the end of the run's range; null: not yet.
   */
  'watermark-moved': { readonly pipeline: string; readonly until: string; readonly from: string | null };
  /** The lake's data is older than requested, after a run that failed for another reason. */
  'lake-lags': { readonly reason: string };
  /** A gap that a sync leaves to a backfill. */
  'gap-left': { readonly pipeline: string; readonly from: string; readonly to: string };
  /** A sync finds no lake, and begins one: that another one has gone can't be seen. */
  'lake-begun': { readonly lake: string };
  /** The lake has pipelines of another API, and no setting says which API a sync loads. */
  'api-left': { readonly account: string; readonly pipelines: readonly string[]; readonly api: string };
  /** Days that an API has and a newer one lacks: the account's figures don't include them. */
  'days-left-out': { readonly account: string; readonly reason: string };
  /** Pages and quota can't be stored for the next run. */
  'state-not-kept': { readonly folder: string; readonly reason: string };
  /** The user has no home folder: pages and quota are kept in the temporary folder. */
  'state-temporary': { readonly folder: string };
  /** A note that isn't essential could not be written. */
  'note-not-written': { readonly note: 'last-run' | 'look-back' | 'requested-ranges'; readonly reason: string };
  /** The store can't do something that the lake can do without. */
  'store-limited': { readonly reason: string };
  /** A note of requested ranges can't be parsed. */
  'note-passed-over': {
    /** Within the lake. */
    readonly file: string;
  };
  /** A checkpoint of a log was skipped: the commits were read instead. */
  'checkpoint-damaged': {
    /** Within the lake. */
    readonly file: string;
    readonly reason: string;
    /** Whether the command writes a new one. */
    readonly rewritten: boolean;
  };
  /** A data file that no commit references, left by a dead run, is deleted. */
  'orphan-deleted': {
    /** Within the lake. */
    readonly file: string;
  };
  /** The number of deleted orphans of a table. */
  'orphans-deleted': { readonly table: string; readonly files: number };
  /** Orphans are kept, because a log names missing files: it may be an older copy. */
  'orphans-left': object;
  /** The export for other engines is up to date with the tables. */
  'lake-exported': {
    /** `iceberg`. */
    readonly format: string;
    readonly tables: number;
    /** The tables among them that were exported again. */
    readonly changed: number;
    /** Bytes written. */
    readonly bytes: number;
  };
  /** The export failed; the run's commits stay. */
  'export-failed': { readonly format: string; readonly reason: string };
  /** A rebuild can't derive the entries of a file. */
  'file-unread': {
    /** Within the lake. */
    readonly file: string;
    /** `window/…`; of several the first and how many more. */
    readonly slice: string;
    /** What is wrong with it. */
    readonly reason: string;
    /** The command that re-reads its rows; null where none is known. */
    readonly command: string | null;
  };
  /** The inputs of an import. */
  'inputs-planned': {
    readonly inputs: number;
    /** Their stored size; null where unknown, as for standard input. */
    readonly bytes: number | null;
  };
  /** Bytes of an input read so far. */
  'input-read': { readonly input: string; readonly bytes: number };
  'input-ended': {
    readonly input: string;
    readonly status: 'imported' | 'left-out';
    /** Why the input was left out. */
    readonly reason: string | null;
  };
  'line-left-out': { readonly reason: string };
  /** A part of a page can't be read, and is left out. */
  'hole-left': {
    readonly pipeline: string;
    /** The slice, and page, list, bytes and request id; of an import file, line, list and bytes. */
    readonly place: string;
  };
  'rows-imported': {
    readonly pipeline: string;
    /** By table. */
    readonly rows: Readonly<Record<string, number>>;
    readonly files: number;
    readonly bytes: number;
  };
  /** The files that `compact` or `rebuild` processes. */
  'files-planned': { readonly pipeline: string; readonly files: number; readonly bytes: number };
  'files-merged': {
    readonly pipeline: string;
    /** `shop/2026-01`. */
    readonly partition: string;
    /** Main files, and the bytes of all merged files. */
    readonly files: number;
    readonly bytes: number;
  };
  'entries-checked': {
    readonly pipeline: string;
    /** The file whose entries were re-derived. */
    readonly file: string;
    readonly bytes: number;
    /** Whether they have changed. */
    readonly changed: boolean;
  };
  /** A worker of a fleet waits for turns. */
  'worker-started': {
    readonly fleet: string;
    /** Without user and password. */
    readonly redis: string;
    /** Turns at once. */
    readonly concurrency: number;
  };
  /** A signal has stopped the worker: it takes no new turns, and finishes the active ones. */
  'worker-draining': {
    /** Active turns. */
    readonly turns: number;
    /** Time after which they are aborted. */
    readonly graceSeconds: number;
  };
  'turn-started': {
    readonly account: string;
    readonly work: 'sync' | 'backfill';
    /** Number of the fleet's turn, from 1. */
    readonly turn: number;
  };
  'turn-ended': {
    readonly account: string;
    readonly work: 'sync' | 'backfill';
    readonly turn: number;
    /** `over`: regular end with slices left; `lost`: another worker has the account. */
    readonly end: 'done' | 'over' | 'transient' | 'permanent' | 'lost';
    /** The reason, where it isn't `done`. */
    readonly reason: string | null;
    /** `rest`: nothing is left to load; `dead`: the account is among the dead letters; null where the account was lost, and where the turn failed outside of its job. */
    readonly next: 'rest' | 'again' | 'dead' | null;
    /** Time until the next turn can start. */
    readonly delaySeconds: number;
    readonly seconds: number;
    readonly slices: number;
    readonly pages: number;
    readonly requests: number;
    readonly throttled: number;
  };
  /** A warning of a run, from a worker of several accounts. */
  'account-warned': { readonly account: string; readonly message: string };
  /** Redis has unsuitable settings for a queue. */
  'queue-warning': { readonly reason: string };
  /** Number of accounts in the queue, emitted periodically by each worker. */
  'queue-counted': {
    /** Ready for a turn; active at any worker; waiting for a retry; among the dead letters. */
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
    readonly dead: number;
  };
  /** The connection to Redis is lost: commits and turns wait for it. */
  'queue-lost': { readonly reason: string };
  'queue-back': object;
  /** The queue could not be updated, or has withdrawn a turn. */
  'queue-failed': { readonly reason: string };
}

type EventsByName = { readonly [E in RunEvent as E['event']]: E };

/** Handlers by event name; events without a handler are ignored. */
export type Handlers<R> = { readonly [Name in keyof EventsByName]?: (event: EventsByName[Name]) => R };

/** Calls the event's handler. Returns its result; undefined where there is none. */
export function dispatch<R, Name extends keyof EventsByName>(
  handlers: Handlers<R>,
  event: EventsByName[Name] & { readonly event: Name },
): R | undefined {
  return handlers[event.event]?.(event);
}
