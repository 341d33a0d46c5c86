import { destination, pino } from 'pino';
import type { Clock } from '../../core/clock.js';
import { printableLines } from '../../core/printable.js';
import { levels, type LogLevel, type Emit } from '../../core/events/run-event.js';
import { isoInstant } from '../../core/numeric/instant.js';

/**
 * Logs a run as one JSON object a line: `level`, `time`, `event`, `account` and `run` (null until they are known) and
 * the event's fields. Each line is written before `Emit` returns, so that none is lost however the process ends.
 */
export function jsonLog({
  fd,
  clock,
  least,
  account: named,
}: {
  /** A file descriptor. */
  readonly fd: number;
  readonly clock: Clock;
  /** The lowest level that is written. */
  readonly least: LogLevel;
  /** The account, where it is known from the beginning. */
  readonly account: string | null;
}): Emit {
  const lines = destination({ fd, sync: true });
  // A log that can't be written, such as a closed pipe, must not end the run.
  lines.on('error', () => undefined);
  const logger = pino(
    {
      // Leaves out the process id and the host name.
      base: null,
      level: least,
      timestamp: () => `,"time":"${isoInstant(clock.now())}"`,
      formatters: { level: (level) => ({ level }) },
    },
    // In a JSON string an escape sequence means the same character.
    { write: (line) => lines.write(printableLines(line)) },
  );
  let account = named;
  let run: string | null = null;
  return (event) => {
    if (event.event === 'run-started') ({ account, run } = event);
    const { event: name, ...details } = event;
    const fields = 'stack' in details && least !== 'debug' ? { ...details, stack: null } : details;
    logger[levels[name]]({ event: name, account, run, ...fields });
  };
}
