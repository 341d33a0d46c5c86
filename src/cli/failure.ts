import { LedgerlakeError, messageOf } from '../core/errors.js';
import { shortened } from '../core/printable.js';
import type { RunEvent } from '../core/events/run-event.js';

/** Why a command ends with something else than 0, with everything that is known of it for `--verbose`. */
export function failureOf(error: unknown): Extract<RunEvent, { event: 'failed' }> {
  const details: string[] = [];
  if (error instanceof LedgerlakeError && error.details !== undefined) details.push(error.details);
  for (let cause = error; cause instanceof Error; cause = cause.cause) details.push(cause.stack ?? cause.message);
  return {
    event: 'failed',
    code: error instanceof LedgerlakeError ? error.code : 'UNKNOWN',
    message: shortened(messageOf(error)),
    exitCode: error instanceof LedgerlakeError ? error.exitCode : 1,
    details: details.length === 0 ? null : details.join('\n'),
  };
}
