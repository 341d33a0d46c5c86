import { ReadFailure } from '../../../engine/retry/read-failure.js';

/** Bytes of an encoded id beyond which servers refuse the request, and no id that a service gives comes near to. */
const longestId = 2048;

/** Why nothing can be asked for by an id that the service gave; undefined where something can. `inPath`: it is part of the path. */
export function unaskable(id: string, { inPath }: { readonly inPath: boolean }): string | undefined {
  if (id === '') return 'it has none';
  if (inPath && (id === '.' || id === '..')) return `${id} is a step within the path`;
  const { length } = encodeURIComponent(id.toWellFormed());
  return length > longestId ? `it takes ${length} bytes of the ${inPath ? 'path' : 'query'}` : undefined;
}

/** A failure to read what an id names: `unknown-subject` where an odd one is refused before any page, whatever the service says. */
export function subjectFailure(error: unknown, id: string): unknown {
  const isRefused = error instanceof ReadFailure && error.status !== undefined && error.pages === 0;
  return isRefused && isOdd(id) ? error.with({ kind: 'unknown-subject' }) : error;
}

/** Whether an id is none that a service would give: that it is refused says nothing of the others. */
function isOdd(id: string): boolean {
  return id.length > 200 || /[^\w.~-]/.test(id) || !/\w/.test(id);
}
