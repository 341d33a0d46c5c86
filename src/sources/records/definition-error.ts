import { LedgerlakeError } from '../../core/errors.js';

/** The error of a definition's function that throws or returns an invalid value. */
export function definitionError(file: string, name: string, what: string, cause?: unknown): LedgerlakeError {
  return new LedgerlakeError('DEFINITION', `${file}: ${name}: ${what}; correct the definition`, { cause });
}
