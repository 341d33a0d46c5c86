import { usageError } from '../core/errors.js';
import { readInstant, millisecondsOf } from '../core/numeric/instant.js';
import { unknownName } from '../core/text/fault-line.js';
import type { Reading } from '../engine/run/pipeline.js';
import { pageHoleText } from '../engine/run/slice-holes.js';
import { JsonNode } from '../sources/records/json-node.js';
import type { FinancesConnection } from '../sources/finances/connect-finances.js';
import { financesApis } from '../sources/finances/finances-apis.js';
import type { ApiOperation, ApiQuery } from '../sources/finances/selling-partner/finances-api.js';
import type { FinancesPage, FinancesParameters, FinancesResult } from './finances-page.js';

const operations = new Map(financesApis.flatMap((api) => Object.entries<ApiOperation>(api.operations)));

/**
 * The query of an operation of any of the APIs, as a function that reads its pages.
 *
 * @throws LedgerlakeError USAGE for an unknown operation or parameter, and for an invalid value
 */
export function financesQuery(
  operation: string,
  given: FinancesParameters,
): (connection: FinancesConnection, reading: Reading<unknown>) => AsyncGenerator<FinancesPage> {
  const found = operations.get(operation);
  if (found === undefined) throw unknownName('an operation', operation, [...operations.keys()]);
  const parameters = readParameters(found, presentPath(given, found.pathParameter?.name));
  return async function* (connection, reading) {
    const client = connection.clientOf(operation);
    for await (const page of client.pages({ operation, parameters }, reading)) {
      const results: FinancesResult[] = [];
      client.eachResult(page, (list, node) => results.push({ list, json: new JsonNode(page.tape, node) }));
      yield {
        body: page.tape.bytes,
        results,
        holes: (page.holes ?? []).map((hole) => pageHoleText(hole, page.requestId)),
      };
    }
  };
}

/** The parameters without an empty path parameter: it counts as missing (specification, section 7). */
function presentPath(given: FinancesParameters, name: string | undefined): FinancesParameters {
  const values: Readonly<Record<string, unknown>> = given;
  if (name === undefined || (values[name] !== '' && values[name] !== null)) return given;
  return { ...given, [name]: undefined };
}

/** Parameters for a query: dates in milliseconds since 1970. */
function readParameters(
  { name: operation, pathParameter, range, parameters }: ApiOperation,
  given: FinancesParameters,
): ApiQuery['parameters'] {
  const dates = range === undefined ? [] : [range.after, range.before];
  const others = [...(pathParameter === undefined ? [] : [pathParameter.name]), ...parameters];
  const read: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(given)) {
    if (![...dates, ...others].includes(name)) {
      throw unknownName(`a parameter of ${operation}`, name, [...dates, ...others]);
    }
    if (value !== undefined) read[name] = dates.includes(name) ? boundInstant(name, value) : parameterText(name, value);
  }
  return read;
}

function boundInstant(name: string, value: unknown): number {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime();
  const micros = typeof value === 'string' ? readInstant(value) : undefined;
  if (micros !== undefined) return millisecondsOf(micros);
  throw usageError(
    `expected ${name} to be a Date, or an ISO 8601 date or instant such as 2025-01-31T06:00:00Z, got ${JSON.stringify(String(value))}`,
  );
}

function parameterText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`expected ${name} to be a text that is not empty, got ${JSON.stringify(String(value))}`);
}
