import { scanRepaired, type Envelope } from '../../../core/json/repair.js';
import { kind, Tape } from '../../../core/json/tape.js';
import type { PageWithHoles } from '../../../engine/run/slice-holes.js';
import { cursorOf, holesOf, unexpectedPage, type ScannedApiPage } from '../selling-partner/scanned-page.js';

/** A body of one of the four operations, scanned. */
export interface ScannedPage extends PageWithHoles {
  readonly tape: Tape;
  /** Node of the payload. */
  readonly payload: number;
  /** Its `NextToken`; undefined on the last page. */
  readonly cursor: string | undefined;
}

/** A page whose results were counted. */
export interface CountedPage extends ScannedPage, ScannedApiPage {}

/** The keys of a page's lists and token. No key within an event is like those of the lists. */
const envelope: Envelope = {
  keys: /"(\w+EventList|NextToken)"\s*:\s*(?:\[|"|null)/g,
  ends: (key, list) => (key === 'NextToken' && list.endsWith('EventList') ? 2 : 1),
};

/**
 * Reads a page. Its results are counted here, so that a page that doesn't match the model is requested again.
 *
 * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY
 */
export function readFinancesPage(body: Uint8Array, headers?: ReadonlyMap<string, string>): CountedPage {
  const page = scanPage(body);
  let results = 0;
  eachEventOrGroup(page, () => results++);
  return { ...page, results, ...holesOf(page.tape, headers) };
}

/**
 * Scans a response body and finds its payload. Events that can't be read are left out (`tape.repairs`).
 *
 * @param options.isBare a body may be the payload itself
 * @throws LedgerlakeError JSON_SYNTAX for bytes that aren't JSON, UPSTREAM_BODY for an envelope that doesn't match the model
 */
export function scanPage(
  body: Uint8Array,
  { tape = new Tape(), isBare = false }: { readonly tape?: Tape; readonly isBare?: boolean } = {},
): ScannedPage {
  scanRepaired(body, tape, envelope);
  if (tape.kind(0) === kind.object) tape.shadowKeys(0);
  const payload = tape.member(0, 'payload') ?? (isBare ? barePayload(tape) : undefined);
  if (payload === undefined || tape.kind(payload) !== kind.object) {
    throw unexpectedPage(tape, 'a body with a "payload" object');
  }
  tape.shadowKeys(payload);
  return { tape, payload, cursor: cursorOf(tape, payload, 'NextToken') };
}

/** The node of a payload without its envelope, as client libraries return it. */
function barePayload(tape: Tape): number | undefined {
  const hasResults = ['FinancialEvents', 'FinancialEventGroupList', 'transactions'].some(
    (name) => tape.member(0, name) !== undefined,
  );
  return hasResults ? 0 : undefined;
}

/**
 * Visits every result of a page: events with the names of their lists, or groups with an empty name.
 *
 * @throws LedgerlakeError UPSTREAM_BODY where the results don't match the model
 */
export function eachEventOrGroup(page: ScannedPage, visit: (list: string, node: number) => void): void {
  eachEvent(page, visit);
  eachGroup(page, (group) => {
    visit('', group);
  });
}

/**
 * Visits every event of a page, list by list. A list that isn't an array counts as one event, so that nothing is lost; null is
 * an empty list.
 *
 * @throws LedgerlakeError UPSTREAM_BODY where FinancialEvents isn't an object
 */
export function eachEvent({ tape, payload }: ScannedPage, visit: (list: string, event: number) => void): void {
  const lists = tape.member(payload, 'FinancialEvents');
  if (lists === undefined || tape.kind(lists) === kind.null) return;
  if (tape.kind(lists) !== kind.object) {
    throw unexpectedPage(tape, 'FinancialEvents to be an object', lists);
  }
  tape.shadowKeys(lists);
  for (const key of tape.keys(lists)) {
    const list = tape.stringValue(key);
    const value = key + 1;
    const valueKind = tape.kind(value);
    if (valueKind === kind.array)
      eachElement(tape, value, (event) => {
        visit(list, event);
      });
    else if (valueKind !== kind.null) visit(list, value);
  }
}

/** Visits every group of a page. As with events, a list that isn't an array counts as one group, null as none. */
export function eachGroup({ tape, payload }: ScannedPage, visit: (group: number) => void): void {
  const list = tape.member(payload, 'FinancialEventGroupList');
  if (list === undefined || tape.kind(list) === kind.null) return;
  const visitOne = (group: number): void => {
    tape.shadowDuplicates(group);
    visit(group);
  };
  if (tape.kind(list) === kind.array) eachElement(tape, list, visitOne);
  else visitOne(list);
}

function eachElement(tape: Tape, array: number, visit: (element: number) => void): void {
  const end = tape.next(array);
  for (let at = array + 1; at < end; at = tape.next(at)) visit(at);
}
