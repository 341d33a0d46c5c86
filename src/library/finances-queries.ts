import { usageError } from '../core/errors.js';
import { readInstant } from '../core/numeric/instant.js';
import { unknownName } from '../core/text/fault-line.js';
import type { Tape } from '../core/json/tape.js';
import type { Reading } from '../engine/run/pipeline.js';
import { pageHoleText, type PageHole } from '../engine/run/slice-holes.js';
import { JsonNode } from '../sources/custom/json-node.js';
import * as v2024 from '../sources/finances/api-2024-06-19/operations.js';
import { eachResult as eachLaterResult } from '../sources/finances/api-2024-06-19/results-page.js';
import { eachResult } from '../sources/finances/api-v0/finances-page.js';
import * as v0 from '../sources/finances/api-v0/operations.js';
import type { FinancesUpstream } from '../sources/finances/connect-finances.js';
import type { FinancesPage, FinancesParameters, FinancesResult } from './results.js';

/**
 * The query of an operation of either API, as a function that reads its pages.
 *
 * @throws LedgerlakeError USAGE for an unknown operation or parameter, and for an invalid value
 */
export function financesQuery(
  operation: string,
  given: FinancesParameters,
): (reading: Reading<FinancesUpstream>) => AsyncGenerator<FinancesPage> {
  if (isV0(operation)) {
    const { range, pathParameter }: v0.Operation = v0.operations[operation];
    const parameters = readParameters(
      operation,
      presentPath(given, pathParameter?.name),
      range,
      pathParameter === undefined ? [] : [pathParameter.name],
    );
    return (reading) => pagesOf(reading.upstream.v0.pages({ operation, parameters }, reading), eachResult);
  }
  if (isV2024(operation)) {
    const { range, relatedIdentifiers, filters }: v2024.Operation = v2024.operations[operation];
    const { relatedIdentifierName, relatedIdentifierValue } = v2024.parameters;
    const related = relatedIdentifiers.length === 0 ? [] : [relatedIdentifierName, relatedIdentifierValue];
    const parameters = readParameters(operation, given, range, [...related, ...filters]);
    return (reading) =>
      pagesOf(reading.upstream.transactions.pages({ operation, parameters }, reading), (page, add) => {
        eachLaterResult(page, (node) => {
          add('', node);
        });
      });
  }
  throw unknownName('an operation', operation, [...Object.keys(v0.operations), ...Object.keys(v2024.operations)]);
}

function isV0(operation: string): operation is v0.OperationName {
  return Object.hasOwn(v0.operations, operation);
}

function isV2024(operation: string): operation is v2024.OperationName {
  return Object.hasOwn(v2024.operations, operation);
}

/** The parameters without an empty path parameter: it counts as missing (specification, section 7). */
function presentPath(given: FinancesParameters, name: string | undefined): FinancesParameters {
  const values: Readonly<Record<string, unknown>> = given;
  if (name === undefined || (values[name] !== '' && values[name] !== null)) return given;
  return { ...given, [name]: undefined };
}

/** Parameters for a query: dates in milliseconds since 1970. */
function readParameters(
  operation: string,
  given: FinancesParameters,
  range: { readonly after: string; readonly before: string } | undefined,
  others: readonly string[],
): Readonly<Record<string, string | number>> {
  const dates = range === undefined ? [] : [range.after, range.before];
  const read: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(given)) {
    if (![...dates, ...others].includes(name)) {
      throw unknownName(`a parameter of ${operation}`, name, [...dates, ...others]);
    }
    if (value !== undefined) read[name] = dates.includes(name) ? instantOf(name, value) : textOf(name, value);
  }
  return read;
}

function instantOf(name: string, value: unknown): number {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime();
  const micros = typeof value === 'string' ? readInstant(value) : undefined;
  if (micros !== undefined) return Number(micros / 1000n);
  throw usageError(
    `expected ${name} to be a Date, or an ISO 8601 date or instant such as 2025-01-31T06:00:00Z, got ${JSON.stringify(String(value))}`,
  );
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`expected ${name} to be a text that is not empty, got ${JSON.stringify(String(value))}`);
}

/** The pages of an operation; `eachOf` calls `add` with the list and the node of each result. */
async function* pagesOf<Page extends { readonly tape: Tape; readonly holes?: readonly PageHole[] }>(
  pages: AsyncIterable<Page>,
  eachOf: (page: Page, add: (list: string, node: number) => void) => void,
): AsyncGenerator<FinancesPage> {
  for await (const page of pages) {
    const results: FinancesResult[] = [];
    eachOf(page, (list, node) => results.push({ list, json: new JsonNode(page.tape, node) }));
    yield { body: page.tape.bytes, results, holes: (page.holes ?? []).map(pageHoleText) };
  }
}
