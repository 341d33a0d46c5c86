import { LedgerlakeError, messageOf } from '../../core/errors.js';

/**
 * Calls a function of a definition.
 *
 * @param file the definition's, for messages
 * @throws LedgerlakeError DEFINITION where it throws; our own errors pass through: an answer that isn't what was expected
 */
export function callDefinition<T>(file: string, name: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof LedgerlakeError) throw error;
    throw definitionError(file, name, `it threw ${JSON.stringify(messageOf(error))}`, error);
  }
}

/** A function of a definition returned something else than it should. */
export function definitionError(file: string, name: string, what: string, cause?: unknown): LedgerlakeError {
  return new LedgerlakeError('DEFINITION', `${file}: ${name}: ${what}; correct the definition`, { cause });
}
