import { LedgerlakeError } from '../errors.js';

/** Whether DuckDB missed a file: one that a commit replaced after it was asked to read it. */
export function lostFile(error: unknown): boolean {
  return (
    error instanceof LedgerlakeError &&
    error.code === 'SQL' &&
    /^(?:IO|HTTP) Error: .*(?:No files found|Cannot open file|Could not open|No such file|404)/s.test(error.message)
  );
}

/**
 * Of what DuckDB has against a file of the lake one line: which file, what it holds, what to do; any other error as it is.
 * `sliceOf` says what the file at an address holds, undefined for a file that isn't the lake's.
 */
export function fileFault(error: unknown, sliceOf: ((address: string) => string | undefined) | undefined): unknown {
  if (!(error instanceof LedgerlakeError) || error.code !== 'SQL') return error;
  for (const [, address = ''] of error.message.matchAll(/["']([^"'\n]+\.parquet)["']/g)) {
    const slice = sliceOf?.(address);
    if (slice === undefined) continue;
    const [words = ''] = error.message.replace(address, 'it').split('\n');
    const found = lostFile(error) ? 'it is missing' : `it is damaged (${words})`;
    const advice =
      '`ledgerlake verify` tells what else is, `ledgerlake backfill --refresh` of its dates writes it again';
    return new LedgerlakeError('SQL', `expected the file ${address} (${slice}), ${found}: ${advice}`, { cause: error });
  }
  return error;
}
