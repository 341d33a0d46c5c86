import { LedgerlakeError } from '../../core/errors.js';

/** How long what is open may take to end after the first signal, unless a command asks for more. */
const shortestGraceMs = 9_000;

/** How a process is stopped. */
export interface Stopping {
  /** Aborts with the error to report. */
  readonly signal: AbortSignal;
  /** Lets what is open take longer than the nine seconds after a signal: milliseconds. */
  readonly allow: (graceMs: number) => void;
}

/** npx may end by a signal and not pass it on: then this program is to end too. */
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
 * Ends commands in good order on the first signal. Who asks twice doesn't want to wait, and a disk or service that never
 * answers must not make anybody wait: the process ends then, which the lake survives as it survives a crash.
 */
export function stopOnSignals(): Stopping {
  let graceMs = shortestGraceMs;
  const stop = new AbortController();
  const stopFor = (what: string): void => {
    if (stop.signal.aborted) process.exit(1);
    const message = `stopped by ${what}; what was committed stays, and the same command continues from there`;
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
    allow: (ms) => {
      graceMs = Math.max(shortestGraceMs, ms);
    },
  };
}
