import { LedgerlakeError } from '../../core/errors.js';
import { neverConnected } from '../http/transport-failure.js';
import type { Cause } from './cause.js';

/** The cause of an error that isn't a refusal: there was no whole answer, or one that isn't what was expected. */
export function transportCause(error: unknown): Cause {
  if (!(error instanceof LedgerlakeError)) return 'other';
  if (error.code === 'UPSTREAM_UNREACHABLE') return neverConnected(error) ? 'no-connection' : 'fault';
  if (error.code === 'TOO_LARGE') return 'too-large';
  return error.code === 'UPSTREAM_BODY' || error.code === 'JSON_SYNTAX' ? 'fault' : 'other';
}
