import { LedgerlakeError } from '../errors.js';

/** Whether DuckDB missed a file: one that a commit replaced after it was asked to read it. */
export function lostFile(error: unknown): boolean {
  return (
    error instanceof LedgerlakeError &&
    error.code === 'SQL' &&
    /^(?:IO|HTTP) Error: .*(?:No files found|Cannot open file|Could not open|No such file|404)/s.test(error.message)
  );
}
