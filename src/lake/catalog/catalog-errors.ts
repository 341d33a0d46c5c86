import { LedgerlakeError } from '../../core/errors.js';

/** The error for a file of a newer program. */
export function newerProgram(file: string, what: string, found: number, supported: number): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected ${what} ${supported} at most in ${file}, got ${found}: a newer program has written the lake; use that one`,
  );
}

/** A vacuum took this run for dead, and may have deleted files that it has written: it commits nothing any more. */
export class FencedRun extends LedgerlakeError {
  constructor(run: string, location: string) {
    super(
      'LAKE_CONFLICT',
      `expected the run ${run} to be alive on ${location}, but another run took it for dead and fenced it, as after a long ` +
        'sleep of the machine; what it had committed stays, run the same command again',
    );
  }
}

/** A commit that this run hadn't read yet was erased: the catalog must be opened again. */
export class ErasedCommit extends LedgerlakeError {
  readonly version: number;

  constructor(version: number, file: string) {
    super(
      'LAKE_CONFLICT',
      `expected a commit in ${file}, got one that \`ledgerlake forget\` has erased meanwhile; run the same command again`,
    );
    this.version = version;
  }
}
