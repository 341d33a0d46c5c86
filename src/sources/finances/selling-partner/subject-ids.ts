import { shortHash } from '../../../core/short-hash.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';
import type { Slice } from '../../../engine/run/slice-queue.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';

/** Bytes of the longest encoded id: servers refuse longer requests, and the service's ids are far shorter. */
const longestId = 2048;

/** Why an id of the service can't be part of a request; undefined where it can. `inPath`: part of the path. */
export function unaskable(id: string, { inPath }: { readonly inPath: boolean }): string | undefined {
  if (id === '') return 'it has none';
  if (inPath && (id === '.' || id === '..')) return `${id} is a step within the path`;
  const { length } = encodeURIComponent(id.toWellFormed());
  return length > longestId ? `it takes ${length} bytes of the ${inPath ? 'path' : 'query'}` : undefined;
}

/** The pages of a subject, and what is said where its id can't be part of a request. */
interface SubjectPages<Page> {
  readonly id: string;
  readonly inPath: boolean;
  refusalText(why: string): string;
  pages(): AsyncIterable<Page>;
}

/**
 * The pages of a group or a settlement.
 *
 * @throws ReadFailure `unaskable`, without a request, for an id that can't be part of one; `unknown-subject` for a malformed id
 * that is refused before any page; and the errors of reading pages
 */
export async function* subjectPages<Page>(subject: SubjectPages<Page>): AsyncGenerator<Page> {
  const { id } = subject;
  const why = unaskable(id, subject);
  if (why !== undefined) throw new ReadFailure('unaskable', 'UPSTREAM_BODY', subject.refusalText(why));
  try {
    yield* subject.pages();
  } catch (error) {
    const isRefused = error instanceof ReadFailure && error.status !== undefined && error.pages === 0;
    throw isRefused && isMalformed(id) ? error.with({ kind: 'unknown-subject' }) : error;
  }
}

/** Whether an id is malformed: its refusal is independent of other ids. */
function isMalformed(id: string): boolean {
  return id.length > 200 || /[^\w.~-]/.test(id) || !/\w/.test(id);
}

/** What identifies the slice, or the part of one, that is a settlement. */
export function settlementSlice(id: string): Pick<Slice, 'name' | 'label' | 'loadKeys'> {
  return {
    // A hash, as an id may contain any characters.
    name: `settlement-${shortHash(id)}`,
    label: `settlement ${id.slice(0, 100)}`,
    loadKeys: [loadKeyFor('settlement', id)],
  };
}
