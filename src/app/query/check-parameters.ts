import { parametersOf } from '../../core/duckdb/sql-statements.js';
import { usageError } from '../../core/errors.js';

/**
 * Compares values with the parameters of statements.
 *
 * @param value what the caller calls a value
 * @param addition how the caller gives that of a parameter
 * @throws LedgerlakeError USAGE for a parameter without a value, and for a value of no parameter
 */
export function checkParameters(
  statements: readonly string[],
  values: Readonly<Record<string, unknown>>,
  { value, addition }: { readonly value: string; readonly addition: (name: string) => string },
): void {
  const names = new Set(statements.flatMap((statement) => [...parametersOf(statement)]));
  const missing = [...names].find((name) => values[name] === undefined);
  if (missing !== undefined) throw usageError(`expected a value for $${missing}, got none; add ${addition(missing)}`);
  const other = Object.keys(values).find((name) => !names.has(name));
  if (other !== undefined) {
    const known = names.size === 0 ? 'no parameter' : [...names].map((name) => `$${name}`).join(', ');
    throw usageError(`expected ${value} for a parameter of the query, got ${other}; the query has ${known}`);
  }
}
