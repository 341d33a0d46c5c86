import { LedgerlakeError } from '../../core/errors.js';
import { ReadFailure, type FailureKind } from '../retry/read-failure.js';
import type { Verdict } from '../run/pipeline.js';

/**
 * What becomes of a slice that fails with this.
 *
 * @param remedies what may help a slice that would be left open otherwise
 */
export function readVerdict(error: unknown, remedies: Partial<Record<FailureKind, Verdict>>): Verdict {
  // A window that came back empty and would replace rows: the others go on.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'skip';
  if (!(error instanceof ReadFailure) || error.consequence === 'stop') return 'abort';
  return remedies[error.kind] ?? 'skip';
}
