import { LedgerlakeError, messageOf } from '../../core/errors.js';

/**
 * Calls a function of a definition. What it throws of ours goes through: an answer that isn't what was expected.
 *
 * @param file the definition's, for messages
 * @throws LedgerlakeError DEFINITION where it throws anything else
 */
export function called<T>(file: string, name: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof LedgerlakeError) throw error;
    throw definitionError(file, name, `it threw ${JSON.stringify(messageOf(error))}`, error);
  }
}

/** What a function of a definition gave isn't what it is to give. */
export function definitionError(file: string, name: string, what: string, cause?: unknown): LedgerlakeError {
  return new LedgerlakeError('DEFINITION', `${file}: ${name}: ${what}; correct the definition`, { cause });
}
