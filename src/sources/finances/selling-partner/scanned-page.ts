import { LedgerlakeError } from '../../../core/errors.js';
import { kind, type Tape } from '../../../core/json/tape.js';
import type { ApiPage } from '../../../engine/paging/paged-api.js';
import type { PageWithHoles } from '../../../engine/run/slice-holes.js';

/** A page whose results are nodes of its JSON. */
export interface ScannedApiPage extends ApiPage {
  readonly tape: Tape;
}

/** The text of a result: its list as JSON and its bytes, which is unique for each pair of list and bytes. */
export function resultText({ tape }: ScannedApiPage, list: string, node: number): string {
  return `${JSON.stringify(list)}${tape.text(node)}`;
}

/**
 * The cursor of the next page, in the member `name` of an object; null, absent and empty mean the last page.
 *
 * @throws LedgerlakeError UPSTREAM_BODY for any other value than a text
 */
export function cursorOf(tape: Tape, object: number, name: string): string | undefined {
  const token = tape.member(object, name);
  if (token === undefined || tape.kind(token) === kind.null) return undefined;
  if (!tape.isString(token)) throw unexpectedPage(tape, `${name} to be a string`, token);
  const cursor = tape.stringValue(token);
  return cursor === '' ? undefined : cursor;
}

/** The error of a body that doesn't match the model. `node`: what was found; left out: the body, or the errors that it has. */
export function unexpectedPage(tape: Tape, expected: string, node = 0): LedgerlakeError {
  const errors = node === 0 ? tape.member(0, 'errors') : undefined;
  const found = errors === undefined ? tape.text(node).slice(0, 80) : `errors: ${tape.text(errors).slice(0, 200)}`;
  return new LedgerlakeError('UPSTREAM_BODY', `expected ${expected}, found ${found}`);
}

/** The holes of an answer, with the id of its request from its headers. */
export function holesOf({ repairs }: Tape, headers?: ReadonlyMap<string, string>): PageWithHoles {
  return { holes: repairs?.holes ?? [], requestId: headers?.get('x-amzn-requestid') };
}
