import { usageError } from '../../core/errors.js';

/**
 * A whole number from the command line.
 *
 * @throws LedgerlakeError USAGE for anything else, and below `least`
 */
export function whole(option: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value) || value < least) {
    throw usageError(`expected ${option} to be a whole number from ${least}, got ${JSON.stringify(text)}`);
  }
  return value;
}

/**
 * A number greater than 0 from the command line, such as a rate.
 *
 * @throws LedgerlakeError USAGE for anything else
 */
export function amount(option: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value) || value <= 0) {
    throw usageError(`expected ${option} to be a number greater than 0, got ${JSON.stringify(text)}`);
  }
  return value;
}
