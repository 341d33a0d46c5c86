/**
 * What happens in a run, as its listeners get it: plain log, JSON log, live view, metrics. The JSON log writes each as it is,
 * so fields are JSON, instants ISO 8601 in UTC, and never a secret. `docs/logs.md` describes all of them.
 */
export type RunEvent = EventOf<RunEvents> | (SliceEvent & UpstreamEvent);

type EventOf<Events> = { [Name in keyof Events]: { readonly event: Name } & Events[Name] }[keyof Events];

/** Takes what happens, when it happens. Never throws. */
export type Emit = (event: RunEvent) => void;

/** What an upstream reports of the requests for a slice; the runner adds which slice it is. */
export type UpstreamEvent = EventOf<UpstreamEvents>;

export type Level = 'debug' | 'info' | 'warn' | 'error';

/** `error`: logged with `--quiet` too; `debug`: only with `--verbose`. */
export const levels: Readonly<Record<RunEvent['event'], Level>> = {
  'run-started': 'info',
  'run-ended': 'info',
  stopping: 'info',
  failed: 'error',
  message: 'info',
  'metrics-served': 'info',
  'metrics-not-written': 'warn',
  'metrics-not-served': 'warn',
  'pipeline-planned': 'info',
  'pipeline-ended': 'info',
  'slice-opened': 'debug',
  'page-read': 'debug',
  'slice-committed': 'info',
  'slice-failed': 'warn',
  'slice-conflict': 'info',
  'refresh-widened': 'warn',
  'request-sent': 'debug',
  'answer-slow': 'warn',
  'request-answered': 'debug',
  'request-failed': 'debug',
  'service-awaited': 'warn',
  'secret-exposed': 'warn',
  'bucket-changed': 'debug',
  'rate-unfit': 'warn',
  'watermark-moved': 'debug',
  'lake-lags': 'error',
  'gap-left': 'warn',
  'api-left': 'warn',
  'days-left-out': 'warn',
  'state-not-kept': 'warn',
  'note-not-written': 'warn',
  'note-passed-over': 'warn',
  'checkpoint-damaged': 'warn',
  'history-dropped': 'warn',
  'orphan-deleted': 'debug',
  'orphans-deleted': 'info',
  'orphans-set-aside': 'error',
  'orphans-left': 'warn',
  'lake-exported': 'info',
  'export-failed': 'warn',
  'inputs-planned': 'debug',
  'input-read': 'debug',
  'input-ended': 'info',
  'line-left-out': 'warn',
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

interface SliceEvent {
  readonly pipeline: string;
  /** `2026-01-01T00:00:00.000Z/2026-01-08T00:00:00.000Z`, `group G1`. */
  readonly slice: string;
}

interface UpstreamEvents {
  'request-sent': {
    readonly operation: string;
    /** 1 for the first, 2 and on where it is sent again. */
    readonly attempt: number;
    /** Why it is sent again, as in `request-failed`; null for the first. */
    readonly cause: string | null;
  };
  /** An answer is on its way for half a minute, or another one. */
  'answer-slow': {
    readonly operation: string;
    /** Since the request was sent. */
    readonly seconds: number;
    /** Of its body so far. */
    readonly bytes: number;
  };
  /** A whole page has come. */
  'request-answered': {
    readonly operation: string;
    /** From the request to its whole answer. */
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
    /** Whether the same is asked again, and after how long. */
    readonly again: boolean;
    readonly waitSeconds: number;
  };
}

interface RunEvents {
  'run-started': {
    /** `backfill`. */
    readonly command: string;
    /** null: all of the lake's. */
    readonly account: string | null;
    /** As the user wrote it. */
    readonly lake: string;
    /** Names, in the order in which they are listed. */
    readonly pipelines: readonly string[];
    /** The range, where there is one. */
    readonly from: string | null;
    readonly to: string | null;
  };
  'run-ended': { readonly status: 'done' | 'failed'; readonly seconds: number };
  /** A signal has stopped the run: what is whole is still committed. */
  stopping: object;
  /** Why the command exits with something else than 0. */
  failed: {
    /** Of `src/core/errors.ts`; `UNKNOWN` for anything else. */
    readonly code: string;
    readonly message: string;
    readonly exitCode: number;
    /** What text shows with `--verbose`, such as the request's id. */
    readonly details: string | null;
    /** Where it was thrown, for `--verbose`. */
    readonly stack: string | null;
  };
  /** A line for people, of a command that isn't a run. */
  message: { readonly message: string };
  'metrics-served': { readonly address: string };
  'metrics-not-written': { readonly file: string; readonly reason: string };
  'metrics-not-served': { readonly reason: string };
  'pipeline-planned': {
    readonly pipeline: string;
    /** What there is to load: `92 days`, `3 groups`; empty for nothing. */
    readonly left: string;
  };
  'pipeline-ended': {
    readonly pipeline: string;
    readonly slices: number;
    readonly requests: number;
    readonly retries: number;
    readonly throttled: number;
    readonly pages: number;
    /** Rows read, by table. */
    readonly rows: Readonly<Record<string, number>>;
    readonly files: number;
    readonly bytes: number;
    readonly seconds: number;
  };
  'slice-opened': SliceEvent & {
    /** Pages that the pipeline is expected to have left, open slices included; null while nobody knows. */
    readonly pagesLeft: number | null;
  };
  /** A page, that was received now or by an earlier run, is part of what its slice holds. */
  'page-read': SliceEvent & { readonly results: number; readonly pagesLeft: number | null };
  'slice-committed': SliceEvent & {
    /** Rows read, by table. */
    readonly rows: Readonly<Record<string, number>>;
    /** Files written, and their bytes. */
    readonly files: number;
    readonly bytes: number;
    /** What isn't begun yet; empty for nothing. */
    readonly left: string;
  };
  /** A slice can't be read in the way that was tried. */
  'slice-failed': SliceEvent & {
    readonly verdict: 'abort' | 'skip' | 'known' | 'split' | 'shorten' | 'retry';
    /** `too-large`, `bound-too-late`, `fault` …; null for what isn't a failure of reading. */
    readonly cause: string | null;
    readonly reason: string;
  };
  /** Another run has loaded it meanwhile: what was read is dropped. */
  'slice-conflict': SliceEvent;
  /** More is read again than was asked for, as a damaged file holds it as well. */
  'refresh-widened': {
    readonly pipeline: string;
    /** How many more. */
    readonly slices: number;
    readonly reason: string;
  };
  /** A long wait for the service has begun; reported once a minute at most. */
  'service-awaited': {
    readonly operation: string;
    readonly cause: string;
    /** What the service, or the way to it, last said. */
    readonly reason: string;
    /** When the request comes again. */
    readonly until: string;
  };
  /** A file that secrets are read from can be read by everybody on this machine. */
  'secret-exposed': { readonly file: string };
  /** A token has gone, or the rate is another one. */
  'bucket-changed': {
    readonly operation: string;
    /** Tokens a second. */
    readonly rate: number;
    readonly burst: number;
    /** Tokens that are there, with the fraction of the one that is coming. */
    readonly tokens: number;
    /** Until a token is there; 0: there is one. */
    readonly nextTokenSeconds: number;
  };
  /** The service names a rate that can't be meant; reported once for each operation of a run. */
  'rate-unfit': {
    readonly operation: string;
    /** As it came, at most 40 characters. */
    readonly named: string;
    /** Requests a second that are sent instead. */
    readonly rate: number;
  };
  /** Up to which instant the lake holds everything of a pipeline that a sync sees to. */
  'watermark-moved': { readonly pipeline: string; readonly until: string };
  /** The lake is older than it was asked to be, after a run that failed for something else. */
  'lake-lags': { readonly reason: string };
  /** A gap that a sync leaves to a backfill. */
  'gap-left': { readonly pipeline: string; readonly from: string; readonly to: string };
  /** The lake holds pipelines of another API, and nobody has said whose a sync shall load. */
  'api-left': { readonly account: string; readonly pipelines: readonly string[]; readonly api: string };
  /** Days that v0 has and transactions lack, which are in no figure of the account. */
  'days-left-out': { readonly account: string; readonly reason: string };
  /** Pages and quota can't be kept for the next run. */
  'state-not-kept': { readonly folder: string; readonly reason: string };
  /** A note that the lake can do without. */
  'note-not-written': { readonly note: 'last-run' | 'look-back' | 'asked'; readonly reason: string };
  /** A note of what a run was asked for can't be understood. */
  'note-passed-over': {
    /** Within the lake. */
    readonly file: string;
  };
  /** A checkpoint of a log was passed over: the commits were read instead. */
  'checkpoint-damaged': {
    /** Within the lake. */
    readonly file: string;
    readonly reason: string;
    /** Whether the command writes a new one. */
    readonly rewritten: boolean;
  };
  /** `compact --drop-damaged-history` has removed a file of `event_history`. */
  'history-dropped': {
    /** Within the lake. */
    readonly file: string;
    /** `window/…`; of several the first and how many more. */
    readonly slice: string;
    /** How many it had, as the log says. */
    readonly rows: number;
    /** What is wrong with it. */
    readonly reason: string;
  };
  /** A data file that a dead run left, which no commit references, is deleted. */
  'orphan-deleted': {
    /** Within the lake. */
    readonly file: string;
  };
  /** How many of a table have been. */
  'orphans-deleted': { readonly table: string; readonly files: number };
  /** Files of a table that no commit references were moved: without `_versions.json` commits of theirs may be gone. */
  'orphans-set-aside': {
    readonly table: string;
    readonly files: number;
    /** Within the lake. */
    readonly folder: string;
  };
  /** Files that no commit references stay, as a log names files that are missing: it may be that of another time. */
  'orphans-left': object;
  /** What other engines read beside the logs is that of the tables as they are. */
  'lake-exported': {
    /** `iceberg`. */
    readonly format: string;
    readonly tables: number;
    /** Of these, those of which something was written. */
    readonly changed: number;
    /** Bytes written. */
    readonly bytes: number;
  };
  /** It could not be written; what the run committed stays. */
  'export-failed': { readonly format: string; readonly reason: string };
  /** A file whose entries a rebuild can't derive. */
  'file-unread': {
    /** Within the lake. */
    readonly file: string;
    /** `window/…`; of several the first and how many more. */
    readonly slice: string;
    /** What is wrong with it. */
    readonly reason: string;
    /** The command that reads its rows again; null where none is known. */
    readonly mend: string | null;
  };
  /** What an import has to read. */
  'inputs-planned': {
    readonly inputs: number;
    /** As they are stored; null: nobody knows, as of standard input. */
    readonly bytes: number | null;
  };
  /** So far. */
  'input-read': { readonly input: string; readonly bytes: number };
  'input-ended': {
    readonly input: string;
    readonly status: 'imported' | 'left-out';
    /** Why nothing of it was imported. */
    readonly reason: string | null;
  };
  'line-left-out': { readonly reason: string };
  'rows-imported': {
    readonly pipeline: string;
    /** By table. */
    readonly rows: Readonly<Record<string, number>>;
    readonly files: number;
    readonly bytes: number;
  };
  /** What `compact` or `rebuild` has to go through. */
  'files-planned': { readonly pipeline: string; readonly files: number; readonly bytes: number };
  'files-merged': {
    readonly pipeline: string;
    /** `shop/2026-01`. */
    readonly partition: string;
    /** Main files, and the bytes of all that were merged. */
    readonly files: number;
    readonly bytes: number;
  };
  'entries-checked': {
    readonly pipeline: string;
    /** Whose entries were re-derived. */
    readonly file: string;
    readonly bytes: number;
    /** Whether they are others than before. */
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
  /** A signal has stopped it: it takes nothing new, and finishes what is open. */
  'worker-draining': {
    /** Turns under way. */
    readonly turns: number;
    /** After how long they are broken off. */
    readonly graceSeconds: number;
  };
  'turn-started': {
    readonly account: string;
    readonly work: 'sync' | 'backfill';
    /** Which turn of the fleet it is, from 1. */
    readonly turn: number;
  };
  'turn-ended': {
    readonly account: string;
    readonly work: 'sync' | 'backfill';
    readonly turn: number;
    /** `over`: in good order, with work left; `lost`: another worker has the account. */
    readonly end: 'done' | 'over' | 'transient' | 'permanent' | 'lost';
    /** Why, where it isn't `done`. */
    readonly reason: string | null;
    /** `rest`: it has nothing left to do; `dead`: it is among the dead letters; null where it was lost. */
    readonly next: 'rest' | 'again' | 'dead' | null;
    /** Until its next turn can begin. */
    readonly delaySeconds: number;
    readonly seconds: number;
    readonly slices: number;
    readonly pages: number;
    readonly requests: number;
    readonly throttled: number;
  };
  /** What a run warns of, by a worker that runs several. */
  'account-warned': { readonly account: string; readonly message: string };
  /** Redis isn't what it should be for a queue. */
  'queue-warning': { readonly reason: string };
  /** How many accounts are in the queue, reported from time to time by each worker. */
  'queue-counted': {
    /** Could have their turn at once; have it, with any worker; wait for another try; are among the dead letters. */
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
    readonly dead: number;
  };
  /** There is no connection to Redis for now: commits and turns wait for it. */
  'queue-lost': { readonly reason: string };
  'queue-back': object;
  /** The queue could not be told something, or has taken a turn away. */
  'queue-failed': { readonly reason: string };
}

type EventsByName = { readonly [E in RunEvent as E['event']]: E };

/** What to do about events, by their names; what isn't here is passed over. */
export type Handlers<R> = { readonly [Name in keyof EventsByName]?: (event: EventsByName[Name]) => R };

/** What the event's handler gives; undefined where it has none. */
export function dispatch<R, Name extends keyof EventsByName>(
  handlers: Handlers<R>,
  event: EventsByName[Name] & { readonly event: Name },
): R | undefined {
  return handlers[event.event]?.(event);
}

/** Reports too when a run is told to stop, between its beginning and its end. */
export function emittingStop(emit: Emit, signal: AbortSignal): Emit {
  const stopping = (): void => {
    emit({ event: 'stopping' });
  };
  return (event) => {
    if (event.event === 'run-started') signal.addEventListener('abort', stopping, { once: true });
    if (event.event === 'run-ended') signal.removeEventListener('abort', stopping);
    emit(event);
  };
}

/** What is said of a file with secrets that others can read. */
export function exposedText(file: string): string {
  return `${file} contains secrets, and every user of this machine can read it; run chmod 600 on it`;
}
