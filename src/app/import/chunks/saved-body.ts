import { LedgerlakeError } from '../../../core/errors.js';
import { kind, type Repairs, type Tape } from '../../../core/json/tape.js';
import { excerpt, isHtml } from '../../../engine/retry/api-refusal.js';
import { addPageDirectly } from '../../../sources/finances/api-v0/direct-page.js';
import { eachEvent, scanPage, type ScannedPage } from '../../../sources/finances/api-v0/finances-page.js';
import type { Flattener } from '../../../sources/finances/api-v0/flatten.js';
import { apiWith } from '../../../sources/finances/finances-apis.js';
import type { SliceRows } from '../../../sources/finances/model/slice-rows.js';

/** The members of a body, which show the operation that it answers. A body with neither is an empty page. */
interface SavedBody {
  readonly hasEvents: boolean;
  readonly hasGroups: boolean;
  /** Whether it has a `NextToken`. */
  readonly hasNext: boolean;
  /** The body as JSON, where it was none. */
  readonly repaired: RepairedBody | undefined;
}

/** A body as valid JSON, and how it was repaired. */
export interface RepairedBody {
  readonly bytes: Uint8Array;
  readonly repairs: Repairs;
}

/** What the events of bodies are added to. */
interface FlattenedBodies {
  readonly rows: SliceRows;
  readonly flattener: Flattener;
  readonly tape: Tape;
}

/**
 * Adds the events of a body of the service.
 *
 * @param repairs of a body that is repaired
 * @throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY where it is none; rows may be added by then
 */
export function addBody(body: Buffer, { rows, flattener, tape }: FlattenedBodies, repairs?: Repairs): SavedBody {
  // A line that is too long is empty here.
  const none = { hasNext: false };
  const direct = body.length === 0 ? none : repairs === undefined && addPageDirectly(body, rows, flattener);
  if (direct) return { hasEvents: true, hasGroups: false, hasNext: direct.hasNext, repaired: undefined };
  const page = scanPage(body, { tape, isBare: true });
  const found = page.tape.repairs;
  const repaired = found && { bytes: page.tape.bytes, repairs: found };
  if (repairs !== undefined) page.tape.repairs = repairs;
  const has = (name: string): boolean => {
    const member = page.tape.member(page.payload, name);
    return member !== undefined && page.tape.kind(member) !== kind.null;
  };
  const hasNext = page.cursor !== undefined;
  const content = { hasEvents: has('FinancialEvents'), hasGroups: has('FinancialEventGroupList'), hasNext, repaired };
  if (!content.hasEvents && !content.hasGroups) refuseOtherResults(page);
  if (content.hasEvents)
    eachEvent(page, (list, event) => {
      flattener.add(page.tape, list, event);
    });
  return content;
}

/**
 * An empty page has a token at most: results of another operation, such as transactions, would vanish in silence.
 *
 * @throws LedgerlakeError UPSTREAM_BODY
 */
function refuseOtherResults({ tape, payload }: ScannedPage): void {
  for (const key of tape.keys(payload)) {
    const value = tape.kind(key + 1);
    if (value !== kind.array && value !== kind.object) continue;
    const found = tape.stringValue(key).slice(0, 80);
    const api = apiWith(found);
    throw new LedgerlakeError(
      'UPSTREAM_BODY',
      `expected a payload with FinancialEvents or FinancialEventGroupList, found ${found}` +
        (api === undefined ? '' : `: pages of ${api.title} cannot be imported`),
    );
  }
}

/** What is wrong with a line that is no body of the service. */
export function bodyFault(line: Buffer, { message }: LedgerlakeError): string {
  if (!isHtml(line)) return message;
  const text = excerpt(line.toString('utf8', 0, 400));
  return `expected a body with a "payload" object, found a web page (HTML): ${text}`;
}
