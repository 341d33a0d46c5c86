import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../core/clock.js';
import { dispatch, type Handlers, type Emit } from '../../core/events/run-event.js';
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
 * Metrics of one run, from its `run-started` on, each with the run's account as a label; or of a worker (`turnMetrics`).
 *
 * @param run account and command of a run that may fail before it starts; left out: such a failure isn't counted
 */
export function createRunMetrics(clock: Clock, run?: { account: string; command: string }): RunMetrics {
  const registry = new Registry();
  const metric: MetricOptions = (name, help, labelNames) => ({
    name: `ledgerlake_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const current: CurrentRun = { account: '', command: '', ...run };
  const groups = [
    requestMetrics(metric, current),
    sliceMetrics(metric, current),
    progressMetrics(metric, current),
    resultMetrics(metric, current, clock),
    bucketMetrics(metric, current, clock),
    lagMetric(metric, current, clock),
  ];
  const emit: Emit = (event) => {
    if (event.event === 'run-started') {
      current.account = event.account ?? '';
      current.command = event.command;
    }
    // Registered for a worker only: metrics without labels appear in the output as soon as they exist.
    if (event.event === 'worker-started') groups.push(turnMetrics(metric));
    for (const handlers of groups) dispatch(handlers, event);
  };
  return { emit, text: () => registry.metrics(), contentType: registry.contentType };
}

/** The account and command of the run whose events are received. */
export interface CurrentRun {
  account: string;
  command: string;
}

/** Returns the options of a new metric; `name` is without the prefix `ledgerlake_`. */
type MetricOptions = <L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[],
) => { name: string; help: string; labelNames: readonly L[]; registers: Registry[] };

function requestMetrics(metric: MetricOptions, run: CurrentRun): Handlers<void> {
  const labels = ['account', 'pipeline', 'operation'] as const;
  const labelsWithCause = [...labels, 'cause'] as const;
  const requests = new Counter(metric('requests_total', 'Requests sent to the service', labels));
  const retries = new Counter(metric('retries_total', 'Requests that were sent again, by cause', labelsWithCause));
  const throttles = new Counter(metric('throttles_total', 'Requests that the service throttled', labels));
  const failures = new Counter(
    metric('request_failures_total', 'Requests that returned no page, by cause', labelsWithCause),
  );
  const received = new Counter(metric('received_bytes_total', 'Bytes of pages received', labels));
  const duration = new Histogram({
    ...metric('request_duration_seconds', 'Time from a request to its complete page', ['account', 'operation']),
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
  });
  return {
    'request-sent': ({ pipeline, operation, cause }) => {
      const { account } = run;
      requests.inc({ account, pipeline, operation });
      if (cause !== null) retries.inc({ account, pipeline, operation, cause });
    },
    'request-answered': ({ pipeline, operation, seconds, bytes }) => {
      const { account } = run;
      received.inc({ account, pipeline, operation }, bytes);
      duration.observe({ account, operation }, seconds);
    },
    'request-failed': ({ pipeline, operation, cause }) => {
      const { account } = run;
      failures.inc({ account, pipeline, operation, cause });
      if (cause === 'throttled') throttles.inc({ account, pipeline, operation });
    },
  };
}

function sliceMetrics(metric: MetricOptions, run: CurrentRun): Handlers<void> {
  const labels = ['account', 'pipeline'] as const;
  const pages = new Counter(metric('pages_total', 'Pages read, including those that an earlier run had kept', labels));
  const commits = new Counter(metric('commits_total', 'Slices committed', labels));
  const rows = new Counter(metric('rows_total', 'Rows of the slices committed', [...labels, 'table']));
  const files = new Counter(metric('written_files_total', 'Files written and committed', labels));
  const bytes = new Counter(metric('written_bytes_total', 'Bytes of the files written and committed', labels));
  const failures = new Counter(
    metric('slice_failures_total', 'Slices that could not be read as they were, by outcome', [...labels, 'verdict']),
  );
  return {
    'run-started': ({ pipelines }) => {
      // A counter that first appears as 1 shows no increase in Prometheus.
      for (const pipeline of pipelines) {
        for (const counter of [pages, commits, files, bytes]) counter.inc({ account: run.account, pipeline }, 0);
      }
    },
    'page-read': ({ pipeline }) => {
      pages.inc({ account: run.account, pipeline });
    },
    'slice-committed': ({ pipeline, ...written }) => {
      const { account } = run;
      commits.inc({ account, pipeline });
      files.inc({ account, pipeline }, written.files);
      bytes.inc({ account, pipeline }, written.bytes);
      for (const [table, count] of Object.entries(written.rows)) rows.inc({ account, pipeline, table }, count);
    },
    'slice-failed': ({ pipeline, verdict }) => {
      failures.inc({ account: run.account, pipeline, verdict });
    },
  };
}

function progressMetrics(metric: MetricOptions, run: CurrentRun): Handlers<void> {
  const labels = ['account', 'pipeline'] as const;
  const openSlices = new Gauge(metric('open_slices', 'Slices that are being read', labels));
  const pagesLeft = new Gauge(metric('pages_left', 'Expected number of pages left to read', labels));
  const openByPipeline = new Map<string, Set<string>>();
  return {
    'run-started': ({ pipelines }) => {
      for (const pipeline of pipelines) openSlices.set({ account: run.account, pipeline }, 0);
    },
    'run-ended': () => {
      for (const pipeline of openByPipeline.keys()) openSlices.set({ account: run.account, pipeline }, 0);
    },
    'slice-opened': ({ pipeline, slice }) => {
      const slices = openByPipeline.get(pipeline) ?? new Set();
      openByPipeline.set(pipeline, slices.add(slice));
      openSlices.set({ account: run.account, pipeline }, slices.size);
    },
    'slice-closed': ({ pipeline, slice }) => {
      openByPipeline.get(pipeline)?.delete(slice);
      openSlices.set({ account: run.account, pipeline }, openByPipeline.get(pipeline)?.size ?? 0);
    },
    'page-read': ({ pipeline, pagesLeft: left }) => {
      if (left !== null) pagesLeft.set({ account: run.account, pipeline }, left);
    },
    'pipeline-ended': ({ pipeline }) => {
      pagesLeft.set({ account: run.account, pipeline }, 0);
    },
  };
}

function resultMetrics(metric: MetricOptions, run: CurrentRun, clock: Clock): Handlers<void> {
  const labels = ['account', 'command'] as const;
  const succeeded = new Gauge(metric('run_succeeded', '1 for a run that succeeded, 0 for one that failed', labels));
  const ended = new Gauge(metric('run_ended_timestamp_seconds', 'When the run ended, in seconds since 1970', labels));
  const end = (isDone: boolean): void => {
    succeeded.set({ ...run }, isDone ? 1 : 0);
    ended.set({ ...run }, clock.now() / 1000);
  };
  return {
    'run-ended': ({ status }) => {
      end(status === 'done');
    },
    failed: () => {
      if (run.command !== '') end(false);
    },
  };
}

function bucketMetrics(metric: MetricOptions, run: CurrentRun, clock: Clock): Handlers<void> {
  const labels = ['account', 'operation'] as const;
  const buckets = new Map<string, BucketLevel>();
  const tokens = new Gauge({
    ...metric('bucket_tokens', 'Requests that could be sent at once', labels),
    collect: () => {
      const { account } = run;
      for (const [operation, bucket] of buckets) tokens.set({ account, operation }, tokensAt(bucket, clock.now()));
    },
  });
  const rate = new Gauge(metric('bucket_rate', 'Requests per second that the quota allows', labels));
  return {
    'bucket-changed': (event) => {
      buckets.set(event.operation, { ...event, at: clock.now() });
      rate.set({ account: run.account, operation: event.operation }, event.rate);
    },
  };
}

function lagMetric(metric: MetricOptions, run: CurrentRun, clock: Clock): Handlers<void> {
  const watermarks = new Map<string, number>();
  const lag = new Gauge({
    ...metric('lag_seconds', 'Age of the lake', ['account', 'pipeline']),
    collect: () => {
      const { account } = run;
      for (const [pipeline, until] of watermarks) lag.set({ account, pipeline }, (clock.now() - until) / 1000);
    },
  });
  return {
    'watermark-moved': ({ pipeline, until }) => {
      watermarks.set(pipeline, Date.parse(until));
    },
  };
}

/** Metrics of a worker, not labelled by account, as a fleet may have thousands. */
function turnMetrics(metric: MetricOptions): Handlers<void> {
  const turns = new Counter(metric('turns_total', 'Turns that have ended, by result', ['work', 'end']));
  const requests = new Counter(metric('turn_requests_total', 'Requests that turns have sent to the service', []));
  const throttles = new Counter(metric('turn_throttles_total', 'Requests of turns that the service throttled', []));
  const slices = new Counter(metric('turn_slices_total', 'Slices that turns have committed', []));
  const seconds = new Counter(metric('turn_seconds_total', 'Duration of turns', ['work']));
  const openTurns = new Gauge(metric('open_turns', 'Active turns of this worker', []));
  const queue = new Gauge(
    metric('queue_accounts', 'Accounts in the queue of the fleet, all workers together', ['state']),
  );
  const connected = new Gauge(metric('queue_connected', '1 while there is a connection to Redis, else 0', []));
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
