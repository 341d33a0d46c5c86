import { scanRepaired, type Envelope } from '../../../core/json/repair.js';
import { kind, Tape } from '../../../core/json/tape.js';
import type { PageWithHoles } from '../../../engine/run/slice-holes.js';
import { cursorOf, holesOf, unexpectedPage, type ScannedApiPage } from '../selling-partner/scanned-page.js';
import {
  transactionOperations,
  parameters,
  type TransactionOperation,
  type TransactionOperationName,
} from './operations.js';

/** A list of results in JSON, scanned. */
export interface ScannedResults extends PageWithHoles {
  readonly tape: Tape;
  /** Node of the list. */
  readonly list: number;
}

/** A page of one of the operations. */
export interface ResultsPage extends ScannedResults, ScannedApiPage {}

/** The key of a page's token, behind its list. */
const envelope: Envelope = { keys: /"(nextToken)"\s*:\s*(?:"|null)/g, ends: () => 1 };

/**
 * Reads a page: `{"payload":{"transactions":[…],"nextToken":…}}`, or its members at the top level where the operation has no
 * payload. An answer without its list is a fault, not an empty page. Results that can't be read are left out.
 *
 * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY
 */
export function readResultsPage(
  operation: TransactionOperationName,
  body: Uint8Array,
  headers?: ReadonlyMap<string, string>,
): ResultsPage {
  const { hasPayload, result }: TransactionOperation = transactionOperations[operation];
  const tape = new Tape();
  scanRepaired(body, tape, envelope);
  if (tape.kind(0) === kind.object) tape.shadowKeys(0);
  const content = hasPayload ? tape.member(0, 'payload') : 0;
  if (content === undefined || tape.kind(content) !== kind.object) {
    throw unexpectedPage(tape, hasPayload ? 'a body with a "payload" object' : 'a body that is an object');
  }
  if (hasPayload) tape.shadowKeys(content);
  const list = tape.member(content, result);
  if (list === undefined || tape.kind(list) !== kind.array)
    throw unexpectedPage(tape, `a body with a list "${result}"`);
  let results = 0;
  eachResult({ tape, list }, () => results++);
  const cursor = cursorOf(tape, content, parameters.nextToken);
  return { tape, list, results, cursor, ...holesOf(tape, headers) };
}

/** Visits every result of a page, in order. */
export function eachResult({ tape, list }: ScannedResults, visit: (result: number) => void): void {
  const end = tape.next(list);
  for (let at = list + 1; at < end; at = tape.next(at)) visit(at);
}
