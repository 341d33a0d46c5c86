import { LedgerlakeError } from '../../core/errors.js';

/** How long a command may take to end after the first signal, unless it extends the time. */
const shortestGraceMs = 9_000;

/** The stop of a process by a signal. */
export interface Stopping {
  /** Aborts with the error to report. */
  readonly signal: AbortSignal;
  /** Extends the time after a signal beyond nine seconds. `graceMs`: milliseconds. */
  readonly extendGrace: (graceMs: number) => void;
}

/** npx may end by a signal without forwarding it; this program ends with it. */
function onParentExit(ended: () => void): void {
  const { ppid: parent } = process;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    ended();
  }, parentCheckMs).unref();
}

const parentCheckMs = 1000;

/**
 * Aborts the running command on the first signal, so that it ends in good order. On a second signal, and after the grace
 * period, the process exits at once; the lake survives that like a crash.
 */
export function stopOnSignals(): Stopping {
  let graceMs = shortestGraceMs;
  const stop = new AbortController();
  const stopFor = (cause: string): void => {
    if (stop.signal.aborted) process.exit(1);
    const message = `stopped by ${cause}; what was committed stays, and the same command continues from there`;
    stop.abort(new LedgerlakeError('STOPPED', message));
    setTimeout(() => {
      process.stderr.write(`ledgerlake: STOPPED: ${message}; what was open did not finish in time\n`);
      process.exit(1);
    }, graceMs).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stopFor(signal);
    });
  }
  if (process.env['npm_command'] === 'exec') {
    onParentExit(() => {
      if (!stop.signal.aborted) stopFor('the end of npx');
    });
  }
  return {
    signal: stop.signal,
    extendGrace: (ms) => {
      graceMs = Math.max(shortestGraceMs, ms);
    },
  };
}
