import { LedgerlakeError } from '../src/core/errors.js';

/** The error that a promise is rejected with. Throws where it is fulfilled, or rejected with one of another class. */
export async function failureOf(promise: Promise<unknown>): Promise<LedgerlakeError>;
export async function failureOf<T extends Error>(
  promise: Promise<unknown>,
  type: abstract new (...args: never[]) => T,
): Promise<T>;
export async function failureOf(
  promise: Promise<unknown>,
  type: abstract new (...args: never[]) => Error = LedgerlakeError,
): Promise<Error> {
  const error: unknown = await promise.then(
    () => 'no failure',
    (reason: unknown) => reason,
  );
  if (!(error instanceof type)) throw new Error(`expected ${type.name}, got ${String(error)}`, { cause: error });
  return error;
}
