import { ReadFailure } from '../../engine/retry/read-failure.js';
import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import type { TurnEnd } from './turns.js';

type Fault = Extract<TurnEnd, 'passing' | 'lasting'>;

/** Whether what ended a turn may be gone later by itself, or stays until somebody mends it. */
const faults: Readonly<Record<ErrorCode, Fault>> = {
  USAGE: 'lasting',
  MISSING_PARAMETER: 'lasting',
  UPSTREAM_UNREACHABLE: 'passing',
  UPSTREAM_STATUS: 'passing',
  // Somebody is to look whether it can be right.
  UPSTREAM_EMPTY: 'lasting',
  UPSTREAM_BODY: 'passing',
  TOO_LARGE: 'lasting',
  SIGN_IN_REFUSED: 'lasting',
  SIGN_IN_UNREACHABLE: 'passing',
  BROKEN_LINE: 'lasting',
  JSON_SYNTAX: 'passing',
  // A disk that is full, a store that can't be reached: others see to that.
  LAKE_STORE: 'passing',
  LAKE_UNCLEAR: 'passing',
  LAKE_LOG: 'lasting',
  LAKE_CONFLICT: 'passing',
  LAKE_LAG: 'passing',
  PARQUET_MISMATCH: 'passing',
  DEFINITION: 'lasting',
  ENCODER: 'passing',
  OUTPUT: 'lasting',
  SQL: 'passing',
  INCOMPLETE: 'passing',
  QUEUE_UNREACHABLE: 'passing',
  QUEUE_UNFIT: 'lasting',
  STOPPED: 'passing',
};

/** What a turn ended of; a fault of this program counts as passing, and leads to the dead letters all the same in the end. */
export function turnFault(error: unknown): Fault {
  if (error instanceof ReadFailure && (error.kind === 'denied' || error.kind === 'mistake')) return 'lasting';
  return error instanceof LedgerlakeError ? faults[error.code] : 'passing';
}
