import { ReadFailure } from '../../../engine/retry/read-failure.js';

/** Bytes of the longest encoded id: servers refuse longer requests, and the service's ids are far shorter. */
const longestId = 2048;

/** Why an id of the service can't be part of a request; undefined where it can. `inPath`: part of the path. */
export function unaskable(id: string, { inPath }: { readonly inPath: boolean }): string | undefined {
  if (id === '') return 'it has none';
  if (inPath && (id === '.' || id === '..')) return `${id} is a step within the path`;
  const { length } = encodeURIComponent(id.toWellFormed());
  return length > longestId ? `it takes ${length} bytes of the ${inPath ? 'path' : 'query'}` : undefined;
}

/** The failure to read a subject: `unknown-subject` where a malformed id is refused before any page. */
export function subjectFailure(error: unknown, id: string): unknown {
  const isRefused = error instanceof ReadFailure && error.status !== undefined && error.pages === 0;
  return isRefused && isMalformed(id) ? error.with({ kind: 'unknown-subject' }) : error;
}

/** Whether an id is malformed: its refusal is independent of other ids. */
function isMalformed(id: string): boolean {
  return id.length > 200 || /[^\w.~-]/.test(id) || !/\w/.test(id);
}
