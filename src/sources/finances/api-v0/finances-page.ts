import { LedgerlakeError } from '../../../core/errors.js';
import { scan } from '../../../core/json/scan.js';
import { kind, Tape } from '../../../core/json/tape.js';

/** A body of one of the four operations, scanned. */
export interface ScannedPage {
  readonly tape: Tape;
  /** Node of the payload. */
  readonly payload: number;
  /** Token of the next page; undefined on the last one. */
  readonly nextToken: string | undefined;
}

/**
 * Scans a response body and finds its payload.
 *
 * @throws LedgerlakeError JSON_SYNTAX for bytes that aren't JSON, UPSTREAM_BODY where the envelope isn't the model's
 */
export function scanPage(body: Uint8Array, tape = new Tape()): ScannedPage {
  scan(body, tape);
  if (tape.kind(0) === kind.object) tape.shadowKeys(0);
  const payload = tape.member(0, 'payload');
  if (payload === undefined || tape.kind(payload) !== kind.object) {
    const errors = tape.member(0, 'errors');
    const found = errors === undefined ? tape.text(0).slice(0, 80) : `errors: ${tape.text(errors).slice(0, 200)}`;
    throw new LedgerlakeError('UPSTREAM_BODY', `expected a body with a "payload" object, found ${found}`);
  }
  tape.shadowKeys(payload);
  const token = tape.member(payload, 'NextToken');
  if (token === undefined || tape.kind(token) === kind.null) return { tape, payload, nextToken: undefined };
  if (!tape.isString(token)) {
    throw new LedgerlakeError(
      'UPSTREAM_BODY',
      `expected NextToken to be a string, found ${tape.text(token).slice(0, 80)}`,
    );
  }
  const nextToken = tape.stringValue(token);
  return { tape, payload, nextToken: nextToken === '' ? undefined : nextToken };
}

/**
 * Calls back with every event of a page, list by list. A list that came as an object, or as anything but an array, is
 * taken as one event, so that nothing vanishes; null is an empty list.
 *
 * @throws LedgerlakeError UPSTREAM_BODY where FinancialEvents isn't an object
 */
export function eachEvent({ tape, payload }: ScannedPage, take: (list: string, event: number) => void): void {
  const lists = tape.member(payload, 'FinancialEvents');
  if (lists === undefined || tape.kind(lists) === kind.null) return;
  if (tape.kind(lists) !== kind.object) {
    const found = tape.text(lists).slice(0, 80);
    throw new LedgerlakeError('UPSTREAM_BODY', `expected FinancialEvents to be an object, found ${found}`);
  }
  tape.shadowKeys(lists);
  for (const key of tape.keys(lists)) {
    const list = tape.stringValue(key);
    const value = key + 1;
    const valueKind = tape.kind(value);
    if (valueKind === kind.array)
      eachElement(tape, value, (event) => {
        take(list, event);
      });
    else if (valueKind !== kind.null) take(list, value);
  }
}

/** Calls back with every group of a page. What isn't an array is taken as for events: as one group, null as none. */
export function eachGroup({ tape, payload }: ScannedPage, take: (group: number) => void): void {
  const list = tape.member(payload, 'FinancialEventGroupList');
  if (list === undefined || tape.kind(list) === kind.null) return;
  const takeOne = (group: number): void => {
    tape.shadowDuplicates(group);
    take(group);
  };
  if (tape.kind(list) === kind.array) eachElement(tape, list, takeOne);
  else takeOne(list);
}

function eachElement(tape: Tape, array: number, take: (element: number) => void): void {
  const end = tape.next(array);
  for (let at = array + 1; at < end; at = tape.next(at)) take(at);
}
