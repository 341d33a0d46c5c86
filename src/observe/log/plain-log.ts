import {
  dispatch,
  type Handlers,
  levels,
  type LogLevel,
  type RunEvent,
  type Emit,
} from '../../core/events/run-event.js';
import { printable, printableLines, truncateText } from '../../core/printable.js';
import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';

/** The forms of a log: text lines, or one JSON object a line. */
export const logFormats = ['text', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

interface PlainLogOptions {
  /** Adds lines for slices, requests and files, and all details of an error. */
  readonly verbose?: boolean;
  /** The lowest level that is written; default `debug`. */
  readonly least?: LogLevel;
  /** Colours a line by its level; default: no colour. */
  readonly paint?: (level: LogLevel, line: string) => string;
}

const levelOrder: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Logs a run as text: each event is one line, whatever its texts contain, or none. */
export function plainLog(
  write: (line: string) => void,
  { verbose = false, least = 'debug', paint = (_level, line) => line }: PlainLogOptions = {},
): Emit {
  const isWritten = (level: LogLevel): boolean => levelOrder.indexOf(level) >= levelOrder.indexOf(least);
  const repeats = verbose ? undefined : new Repeats();
  return (event) => {
    const level = levels[event.event];
    for (const line of event.event === 'run-ended' ? (repeats?.end() ?? []) : []) {
      if (isWritten('warn')) write(paint('warn', line));
    }
    if (!isWritten(level) || repeats?.isRepeat(event) === true) return;
    const line = lineOf(event, verbose);
    if (line !== undefined) write(paint(level, line));
  };
}

/** Causes with the same reason for every slice: one line reports them all. */
const sharedCauses: ReadonlySet<string> = new Set(['bound-too-late', 'too-large']);

/** Counts failed slices by cause, of which only the first one is written. */
class Repeats {
  /** By cause: slices left open, and how many of them have a line. */
  readonly #counts = new Map<string, { open: number; readonly written: number }>();

  /** Whether the event repeats a cause that was already written. */
  isRepeat(event: RunEvent): boolean {
    if (event.event !== 'slice-failed' || event.cause === null || !sharedCauses.has(event.cause)) return false;
    const { cause, verdict } = event;
    const before = this.#counts.get(cause);
    const open = verdict === 'skip' ? 1 : 0;
    if (before === undefined) this.#counts.set(cause, { open, written: open });
    else before.open += open;
    return before !== undefined;
  }

  /** The lines that sum up the unwritten failures at the end of a run; counting starts again after it. */
  end(): string[] {
    const lines = [...this.#counts].flatMap(([cause, { open, written }]) => {
      const slices = `${formatCount(open, 'slice')} ${open === 1 ? 'is' : 'are'} left open`;
      return open === written ? [] : [`${slices} for this reason (${cause}); --verbose lists them`];
    });
    this.#counts.clear();
    return lines;
  }
}

/** Characters of the reason of a slice that is split. */
const mostReason = 120;

const failureTexts = {
  skip: 'is left open',
  split: 'is read in parts',
  shorten: 'is read in parts',
  retry: 'is read again from its beginning',
} as const;

const awaitedTexts: Readonly<Record<string, string>> = {
  throttled: 'the service throttles it (429)',
  'bound-too-late': 'the range ends too close to the present by the clock of the service',
};

const noteTexts = {
  'last-run': 'the note for `ledgerlake status`',
  'look-back': 'the note of the look-back',
  'requested-ranges': 'the note of the requested ranges',
} as const;

const endTexts = {
  done: 'done',
  over: 'over',
  transient: 'failed',
  permanent: 'failed',
  lost: 'lost to another worker',
} as const;

/** Text of the events that are always written. */
const lines: Handlers<string | undefined> = {
  message: ({ message }) => message,
  stopping: () => 'stopping: complete slices are still committed; the same signal again stops at once',
  'metrics-served': ({ address }) => `metrics on ${address}`,
  'notify-failed': ({ reason }) => `the end of this command was not posted to the address of notify: ${reason}`,
  'metrics-not-written': ({ file, reason }) => `metrics could not be written to ${file}: ${reason}`,
  'metrics-not-served': ({ reason }) => `a request for metrics failed: ${reason}`,
  'pipeline-planned': ({ pipeline, left }) => `${pipeline}: ${left === '' ? 'nothing' : left} to load`,
  'pipeline-ended': ({ pipeline, slices, seconds }) =>
    slices > 0 ? `${pipeline}: done in ${seconds.toFixed(1)} s` : undefined,
  'slice-failed': ({ pipeline, slice, verdict, reason }) => {
    // A slice that goes on needs no request of 400 characters.
    const isSplit = verdict === 'split' || verdict === 'shorten';
    const text = isSplit && reason.length > mostReason ? `${truncateText(reason, mostReason)}…` : reason;
    return `${pipeline}: ${slice} ${failureTexts[verdict]}: ${text}`;
  },
  'clock-differs': ({ seconds }) =>
    `WARNING: this machine's clock is ${formatSpan(Math.abs(seconds) * 1000)} ${seconds > 0 ? 'behind' : 'ahead of'} the clock of the API; ` +
    'ranges without --to end by this clock: correct it',
  'service-awaited': ({ operation, cause, reason, until }) =>
    `${operation}: waiting until ${until.slice(0, 19)}Z before the next attempt: ${awaitedTexts[cause] ?? reason}`,
  'secret-exposed': ({ file }) =>
    `${file} contains secrets, and every user of this machine can read it; run chmod 600 on it`,
  'variable-misspelt': ({ variable, nearest }) => `the variable ${variable} is not read; did you mean ${nearest}?`,
  'answer-slow': ({ pipeline, operation, seconds, bytes }) =>
    `${pipeline}: ${operation} is slow: ${formatBytes(bytes)} in ${formatSpan(seconds * 1000)}, and the answer is not complete`,
  'rate-unfit': ({ operation, named, rate }) =>
    `${operation}: expected a plausible rate in requests per second from the service, got ${named}; sending ${rate} per second`,
  'lake-lags': ({ reason }) => reason,
  'gap-left': ({ pipeline, from, to }) =>
    `${pipeline}: ${from} to ${to} is not loaded; \`ledgerlake backfill ${pipeline} --from ${from} --to ${to}\` loads it`,
  'lake-begun': ({ lake }) =>
    `WARNING: there is no lake at ${lake} yet, so this sync begins one; where there should be one, stop it, and check the disk and --lake`,
  'api-left': ({ account, pipelines, api }) =>
    `the lake also has ${pipelines.join(', ')} of ${account}, which this sync does not load; --api ${api} loads them, and so do ` +
    'the setting `api` and LEDGERLAKE_API; --api v0 confirms that this is intended',
  'days-left-out': ({ reason }) => `WARNING: ${reason}`,
  'state-not-kept': ({ folder, reason }) =>
    `pages and quota are not kept for the next run, because ${folder} cannot be written: ${reason}`,
  'state-temporary': ({ folder }) =>
    `pages and quota are kept in ${folder}, as this user has no home folder; set HOME or XDG_CACHE_HOME to keep them elsewhere`,
  'note-not-written': ({ note, reason }) => `${noteTexts[note]} could not be written: ${reason}`,
  'store-limited': ({ reason }) => reason,
  'note-passed-over': ({ file }) => `ignored ${file}, which is not a note of a requested range; it may be deleted`,
  'checkpoint-damaged': ({ file, reason, rewritten }) =>
    `the checkpoint ${file} is damaged (${reason}): the commits were read instead` +
    (rewritten ? ', and a new one is written' : '; `ledgerlake compact` writes a new one'),
  'orphans-deleted': ({ table, files }) =>
    `${table}: deleted ${formatCount(files, 'file')} that no commit references, left by a run that did not finish`,
  'orphans-left': () =>
    'files that no commit references are not deleted, because a log names files that are missing; `ledgerlake verify` names the remedy',
  'lake-exported': ({ format, tables, changed, bytes }) =>
    changed === 0
      ? undefined
      : `exported ${format}: ${formatCount(changed, 'table')} of ${formatCount(tables)}, ${formatBytes(bytes)}`,
  'export-failed': ({ format, reason }) => `the export of ${format} failed, the rows are committed: ${reason}`,
  'file-unread': ({ file, slice, reason, command }) =>
    `not derived: ${file} (${slice}): ${reason}; ${command === null ? 'restore it from a copy' : `read it again: \`${command}\``}`,
  'line-left-out': ({ reason }) => `left out: ${reason}`,
  'hole-left': ({ pipeline, place }) => `${pipeline}: could not read ${place}`,
  'worker-started': ({ fleet, redis, concurrency }) =>
    `waiting for turns of the fleet ${fleet} at ${redis}, ${concurrency} at once`,
  'worker-draining': ({ turns, graceSeconds }) =>
    `draining: ${formatCount(turns, 'turn')} active, ${graceSeconds} s to finish; the same signal again stops at once`,
  'turn-started': ({ account, work, turn }) => `${account}: ${work}, turn ${turn}`,
  'turn-ended': ({ account, work, turn, end, reason, next, delaySeconds, seconds }) => {
    const after = next === 'again' && delaySeconds > 0 ? `, again in ${formatSpan(delaySeconds * 1000)}` : '';
    const dead = next === 'dead' ? ', to the dead letters' : '';
    const why = reason === null ? '' : `: ${reason}`;
    return `${account}: ${work}, turn ${turn} ${endTexts[end]} after ${seconds.toFixed(1)} s${after}${dead}${why}`;
  },
  'account-warned': ({ account, message }) => `${account}: ${message}`,
  'queue-warning': ({ reason }) => reason,
  'queue-lost': ({ reason }) => `no connection to Redis (${reason}): waiting until it is back`,
  'queue-back': () => 'Redis is back',
  'queue-failed': ({ reason }) => `the queue: ${reason}`,
  'input-ended': ({ input, reason }) =>
    reason === null ? undefined : `left out ${input}, nothing of it was imported: ${reason}`,
};

/** Text of the events that only `--verbose` writes. */
const verboseLines: Handlers<string | undefined> = {
  'slice-committed': ({ pipeline, slice, rows, left }) => {
    const counts = Object.entries(rows).map(([table, count]) => `${formatCount(count)} ${table}`);
    const after = left === '' ? 'nothing left to begin' : `${left} left to begin`;
    return `${pipeline}: ${slice} committed, ${counts.join(', ') || 'empty'}, ${after}`;
  },
  'slice-conflict': ({ pipeline, slice }) => `${pipeline}: ${slice} was loaded by another run meanwhile`,
  'request-answered': ({ pipeline, operation, seconds, requestId }) =>
    `${pipeline}: ${operation} answered in ${seconds.toFixed(2)} s, request id ${requestId ?? 'none'}`,
  'request-failed': ({ pipeline, operation, status, cause, again, waitSeconds, requestId }) => {
    const what = status === null ? cause : `${status}, ${cause}`;
    const next = again ? `again in ${formatSpan(waitSeconds * 1000)}` : 'not sent again';
    return `${pipeline}: ${operation} failed (${what}), ${next}, request id ${requestId ?? 'none'}`;
  },
  'orphan-deleted': ({ file }) => `deleting ${file}, which no commit references`,
  'input-ended': ({ input }) => `imported ${input}`,
  'files-merged': ({ pipeline, partition, files }) =>
    `${pipeline}: ${formatCount(files, 'slice')} of ${partition} merged`,
  'entries-checked': ({ pipeline, file, changed }) =>
    changed ? `${pipeline}: entries of ${file} re-derived` : undefined,
};

function lineOf(event: RunEvent, verbose: boolean): string | undefined {
  if (event.event === 'failed') {
    // DuckDB marks the position of an error in the query on further lines.
    const message = event.code === 'SQL' ? printableLines(event.message) : printable(event.message);
    const more = verbose ? [event.details, event.stack].filter((text) => text !== null) : [];
    return [`ledgerlake: ${event.code}: ${message}`, ...more.map(printableLines)].join('\n');
  }
  const line = dispatch(lines, event) ?? (verbose ? dispatch(verboseLines, event) : undefined);
  return line === undefined ? undefined : printable(line);
}
