import { isUtf8 } from 'node:buffer';
import { LedgerlakeError } from '../../../core/errors.js';
import { quote, comma, bracketEnd, braceEnd, FixedText, plainEnd, type JsonBytes } from '../../../core/json/text.js';
import { mostNodes } from '../../../core/json/tape.js';
import type { Flattener } from './flatten.js';
import { none, type SliceRows } from '../model/slice-rows.js';

const pageStart = new FixedText('{"payload":{');
const pageEnd = new FixedText('}}');
const eventsStart = new FixedText('"FinancialEvents":{');
const tokenStart = new FixedText('"NextToken":"');

/** Objects and arrays around an event. */
const outerDepth = 4;

/**
 * Adds the events of a page directly from its bytes, if it has the service's usual form: no white space, no members other than
 * `FinancialEvents` and `NextToken`, no list twice.
 *
 * @returns undefined for another form: nothing is added then, and `scanPage` reads or refuses it
 */
export function addPageDirectly(bytes: Buffer, rows: SliceRows, flattener: Flattener): DirectPage | undefined {
  // A larger page may have more values than a tape can hold.
  if (bytes.length > 2 * mostNodes || !isUtf8(bytes)) return undefined;
  const { mark } = rows;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const page = addLists({ bytes, view }, flattener);
  if (page === undefined) rows.truncate(mark);
  return page;
}

interface DirectPage {
  /** Whether it has a `NextToken`. */
  readonly hasNext: boolean;
}

function addLists(json: JsonBytes, flattener: Flattener): DirectPage | undefined {
  const { bytes, view } = json;
  if (!pageStart.matchesAt(json, 0)) return undefined;
  let at = pageStart.length;
  let hasEvents = false;
  let tokenEnd = none;
  let hasNext = false;
  for (;;) {
    if (!hasEvents && eventsStart.matchesAt(json, at)) {
      hasEvents = true;
      at = listsEnd(json, at + eventsStart.length, flattener);
      if (at === none) return undefined;
    } else if (tokenEnd === none && tokenStart.matchesAt(json, at)) {
      const start = at + tokenStart.length;
      tokenEnd = at = plainEnd(bytes, view, start);
      hasNext = tokenEnd > start;
      if (bytes[at++] !== quote) return undefined;
    } else return undefined;
    if (bytes[at] !== comma) break;
    at++;
  }
  const isWhole = hasEvents && pageEnd.matchesAt(json, at) && at + pageEnd.length === bytes.length;
  return isWhole ? { hasNext } : undefined;
}

/** Adds the events of the lists that begin at a byte. Returns the end of their object; `none` for another form. */
function listsEnd(json: JsonBytes, start: number, flattener: Flattener): number {
  const { bytes, view } = json;
  const lists = new Set<string>();
  let at = start;
  if (bytes[at] === braceEnd) return at + 1;
  for (;;) {
    const nameEnd = bytes[at] === quote ? plainEnd(bytes, view, at + 1) : at;
    if (!listStart.matchesAt(json, nameEnd)) return none;
    const list = bytes.toString('utf8', at + 1, nameEnd);
    if (lists.has(list)) return none;
    lists.add(list);
    at = eventsEnd(json, nameEnd + listStart.length, list, flattener);
    if (at === none) return none;
    const next = bytes[at++];
    if (next === braceEnd) return at;
    if (next !== comma) return none;
  }
}

const listStart = new FixedText('":[');

function eventsEnd(json: JsonBytes, start: number, list: string, flattener: Flattener): number {
  let at = start;
  if (json.bytes[at] === bracketEnd) return at + 1;
  for (;;) {
    try {
      at = flattener.addAt(json, list, at, outerDepth);
    } catch (error) {
      if (error instanceof LedgerlakeError) return none;
      throw error;
    }
    const next = json.bytes[at++];
    if (next === bracketEnd) return at;
    if (next !== comma) return none;
  }
}
