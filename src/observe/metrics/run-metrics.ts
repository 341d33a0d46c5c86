import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../core/clock.js';
import { handled, type Handlers, type Emit } from '../../core/events/run-event.js';
import { tokensAt, type BucketLevel } from '../bucket-level.js';

/** Metrics of runs for Prometheus, described in `docs/metrics.md`. */
export interface RunMetrics {
  readonly emit: Emit;
  /** All metrics in Prometheus's text format. */
  text(): Promise<string>;
  /** Content type of `text`. */
  readonly contentType: string;
}

/**
 * Metrics of one run, from its `run-started` on, each with the run's account as a label; or of a worker
 * (`turnMetrics`).
 *
 * @param run account and command of a run that may fail before it starts; left out: such a failure isn't counted
 */
export function createRunMetrics(clock: Clock, run?: { account: string; command: string }): RunMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `ledgerlake_${name}`, help, labelNames: ['account', ...labelNames], registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[], collect?: () => void) =>
    new Gauge({
      ...{ name: `ledgerlake_${name}`, help, labelNames: ['account' as const, ...labelNames], registers },
      ...(collect && { collect }),
    });

  const requests = counter('requests_total', 'Requests sent to the service', ['pipeline', 'operation']);
  const retries = counter('retries_total', 'Requests that were sent again, by cause', [
    'pipeline',
    'operation',
    'cause',
  ]);
  const throttles = counter('throttles_total', 'Requests that the service throttled', ['pipeline', 'operation']);
  const failures = counter('request_failures_total', 'Requests that returned no page, by cause', [
    ...['pipeline', 'operation', 'cause'],
  ]);
  const received = counter('received_bytes_total', 'Bytes of pages received', ['pipeline', 'operation']);
  const duration = new Histogram({
    name: 'ledgerlake_request_duration_seconds',
    help: 'Time from a request to its complete page',
    labelNames: ['account', 'operation'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
    registers,
  });
  const pages = counter('pages_total', 'Pages read, including those that an earlier run had kept', ['pipeline']);
  const commits = counter('commits_total', 'Slices committed', ['pipeline']);
  const rows = counter('rows_total', 'Rows of the slices committed', ['pipeline', 'table']);
  const files = counter('written_files_total', 'Files written and committed', ['pipeline']);
  const bytes = counter('written_bytes_total', 'Bytes of the files written and committed', ['pipeline']);
  const sliceFailures = counter('slice_failures_total', 'Slices that could not be read as they were, by outcome', [
    ...['pipeline', 'verdict'],
  ]);
  const openSlices = gauge('open_slices', 'Slices that are being read', ['pipeline']);
  const pagesLeft = gauge('pages_left', 'Expected number of pages left to read', ['pipeline']);
  const succeeded = gauge('run_succeeded', '1 for a run that succeeded, 0 for one that failed', ['command']);
  const ended = gauge('run_ended_timestamp_seconds', 'When the run ended, in seconds since 1970', ['command']);

  const buckets = new Map<string, BucketLevel>();
  const tokens = gauge('bucket_tokens', 'Requests that could be sent at once', ['operation'], () => {
    for (const [operation, bucket] of buckets) tokens.set({ account, operation }, tokensAt(bucket, clock.now()));
  });
  const rate = gauge('bucket_rate', 'Requests per second that the quota allows', ['operation']);
  const watermarks = new Map<string, number>();
  const lag = gauge('lag_seconds', 'Age of the lake', ['pipeline'], () => {
    for (const [pipeline, until] of watermarks) lag.set({ account, pipeline }, (clock.now() - until) / 1000);
  });

  let { account, command } = run ?? { account: '', command: '' };
  const runEnded = (isDone: boolean): void => {
    succeeded.set({ account, command }, isDone ? 1 : 0);
    ended.set({ account, command }, clock.now() / 1000);
  };
  const openByPipeline = new Map<string, Set<string>>();
  const closed = (pipeline: string, slice: string): void => {
    openByPipeline.get(pipeline)?.delete(slice);
    openSlices.set({ account, pipeline }, openByPipeline.get(pipeline)?.size ?? 0);
  };

  const handlers: Handlers<void> = {
    'run-started': (event) => {
      account = event.account ?? '';
      command = event.command;
      // A counter that first appears as 1 shows no increase in Prometheus.
      for (const pipeline of event.pipelines) {
        for (const counted of [pages, commits, files, bytes]) counted.inc({ account, pipeline }, 0);
        openSlices.set({ account, pipeline }, 0);
      }
    },
    'run-ended': ({ status }) => {
      runEnded(status === 'done');
      for (const pipeline of openByPipeline.keys()) openSlices.set({ account, pipeline }, 0);
    },
    failed: () => {
      if (command !== '') runEnded(false);
    },
    'slice-opened': ({ pipeline, slice }) => {
      const slices = openByPipeline.get(pipeline) ?? new Set();
      openByPipeline.set(pipeline, slices.add(slice));
      openSlices.set({ account, pipeline }, slices.size);
    },
    'page-read': ({ pipeline, pagesLeft: left }) => {
      pages.inc({ account, pipeline });
      if (left !== null) pagesLeft.set({ account, pipeline }, left);
    },
    'slice-committed': ({ pipeline, slice, ...written }) => {
      closed(pipeline, slice);
      commits.inc({ account, pipeline });
      files.inc({ account, pipeline }, written.files);
      bytes.inc({ account, pipeline }, written.bytes);
      for (const [table, count] of Object.entries(written.rows)) rows.inc({ account, pipeline, table }, count);
    },
    'slice-failed': ({ pipeline, slice, verdict }) => {
      closed(pipeline, slice);
      sliceFailures.inc({ account, pipeline, verdict });
    },
    'slice-conflict': ({ pipeline, slice }) => {
      closed(pipeline, slice);
    },
    'pipeline-ended': ({ pipeline }) => {
      pagesLeft.set({ account, pipeline }, 0);
    },
    'request-sent': ({ pipeline, operation, cause }) => {
      requests.inc({ account, pipeline, operation });
      if (cause !== null) retries.inc({ account, pipeline, operation, cause });
    },
    'request-answered': ({ pipeline, operation, seconds, ...answer }) => {
      received.inc({ account, pipeline, operation }, answer.bytes);
      duration.observe({ account, operation }, seconds);
    },
    'request-failed': ({ pipeline, operation, cause }) => {
      failures.inc({ account, pipeline, operation, cause });
      if (cause === 'throttled') throttles.inc({ account, pipeline, operation });
    },
    'bucket-changed': (event) => {
      buckets.set(event.operation, { ...event, at: clock.now() });
      rate.set({ account, operation: event.operation }, event.rate);
    },
    'watermark-moved': ({ pipeline, until }) => {
      watermarks.set(pipeline, Date.parse(until));
    },
  };
  // Registered for a worker only: metrics without labels appear in the output as soon as they exist.
  let turns: Handlers<void> = {};
  const emit: Emit = (event) => {
    if (event.event === 'worker-started') turns = turnMetrics(registers);
    handled(handlers, event);
    handled(turns, event);
  };
  return { emit, text: () => registry.metrics(), contentType: registry.contentType };
}

/** Metrics of a worker, not labelled by account, as a fleet may have thousands. */
function turnMetrics(registers: Registry[]): Handlers<void> {
  const metric = (name: string, help: string, labelNames: readonly string[] = []) => ({
    ...{ name: `ledgerlake_${name}`, help, labelNames, registers },
  });
  const counter = (...named: Parameters<typeof metric>) => new Counter(metric(...named));
  const gauge = (...named: Parameters<typeof metric>) => new Gauge(metric(...named));
  const turns = counter('turns_total', 'Turns that have ended, by result', ['work', 'end']);
  const requests = counter('turn_requests_total', 'Requests that turns have sent to the service');
  const throttles = counter('turn_throttles_total', 'Requests of turns that the service throttled');
  const slices = counter('turn_slices_total', 'Slices that turns have committed');
  const seconds = counter('turn_seconds_total', 'Duration of turns', ['work']);
  const openTurns = gauge('open_turns', 'Active turns of this worker');
  const queue = gauge('queue_accounts', 'Accounts in the queue of the fleet, all workers together', ['state']);
  const connected = gauge('queue_connected', '1 while there is a connection to Redis, else 0');
  let openCount = 0;
  openTurns.set({}, 0);
  connected.set({}, 1);
  return {
    'turn-started': () => {
      openTurns.set({}, ++openCount);
    },
    'turn-ended': (turn) => {
      openTurns.set({}, --openCount);
      turns.inc({ work: turn.work, end: turn.end });
      seconds.inc({ work: turn.work }, turn.seconds);
      requests.inc({}, turn.requests);
      throttles.inc({}, turn.throttled);
      slices.inc({}, turn.slices);
    },
    'queue-counted': ({ waiting, active, delayed, dead }) => {
      for (const [state, count] of Object.entries({ waiting, active, delayed, dead })) queue.set({ state }, count);
    },
    'queue-lost': () => {
      connected.set({}, 0);
    },
    'queue-back': () => {
      connected.set({}, 1);
    },
  };
}
