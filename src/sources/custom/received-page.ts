import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import { called, definitionError } from './called.js';
import type { AskedWindow, Json, Page } from './definition.js';
import { JsonNode } from './json-node.js';
import type { LoadedDefinition } from './load-definitions.js';

/** A page as it was received, scanned. */
export interface Received {
  readonly page: Page;
  readonly records: readonly Json[];
  readonly body: Uint8Array;
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * Scans a page, and finds its records.
 *
 * @throws LedgerlakeError JSON_SYNTAX, UPSTREAM_BODY or DEFINITION
 */
export function receivedPage(
  { file, definition }: LoadedDefinition,
  request: string,
  window: AskedWindow,
  body: Uint8Array,
  headers: ReadonlyMap<string, string>,
): Received {
  const tape = new Tape();
  scan(body, tape);
  const header = (of: string): string | undefined => headers.get(of.toLowerCase());
  const page: Page = { body: new JsonNode(tape), header, request, window };
  const records: unknown = called(file, 'records', () => definition.records(page));
  if (Array.isArray(records) && records.every((record): record is Json => record instanceof JsonNode)) {
    return { page, records, body, headers };
  }
  throw definitionError(file, 'records', 'expected a list of values of the page, such as page.body.list("items")');
}
