import { LedgerlakeError } from '../errors.js';

/** How long what is open may take to come to its end after the first signal. */
const graceMs = 9_000;

/**
 * Ends commands in good order on the first signal. Who asks twice doesn't want to wait, and a disk or service that never
 * answers must not make anybody wait: the process ends then, which the lake survives as it survives a crash.
 */
export function stopOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      const message = `stopped by ${signal}; what was committed stays, and the same command goes on from there`;
      stop.abort(new LedgerlakeError('STOPPED', message));
      setTimeout(() => {
        process.stderr.write(`ledgerlake: ${message}; what was open did not come to its end in time\n`);
        process.exit(1);
      }, graceMs).unref();
    });
  }
  return stop.signal;
}
