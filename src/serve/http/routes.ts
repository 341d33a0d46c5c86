import { type Operation, operations } from '../../sources/finances/api-v0/operations.js';
import { invalidInput, Refusal } from './refusal.js';

export interface Route {
  readonly operation: Operation;
  /** The path parameter as it stands in the address, still percent-encoded; undefined where the path has none. */
  readonly rawSubject: string | undefined;
}

export interface Target {
  /** As it stands in the address, percent-encoded. */
  readonly path: string;
  /** What follows the first question mark, percent-encoded; '' where nothing does. */
  readonly query: string;
}

const table: readonly { operation: Operation; segments: readonly string[] }[] = Object.values(operations).map(
  (operation) => ({ operation, segments: operation.path.split('/') }),
);

/** Text without its percent-encoding, or undefined where that isn't valid UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Path and query of a request line's target, which may also be a whole address (RFC 9112, section 3.2.2). */
export function targetOf(text: string): Target {
  const local = text.replace(/^https?:\/\/[^/?#]*/i, '');
  const mark = local.indexOf('?');
  return mark < 0 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/**
 * The operation that a request asks for (specification, section 4). Paths are case-sensitive, a slash at the end makes
 * another path, and an encoded slash belongs to the segment it stands in.
 * Throws a Refusal: 404 for a path of no operation, 405 for another method than GET, 400 for one that can't be decoded.
 */
export function routeOf(method: string, path: string): Route {
  const segments = path.split('/');
  const found = table.find(
    (row) =>
      row.segments.length === segments.length &&
      row.segments.every((segment, index) => segment.startsWith('{') || segment === segments[index]),
  );
  if (found === undefined) {
    if (percentDecoded(path) === undefined) throw invalidInput('The path is not percent-encoded UTF-8.', path);
    throw new Refusal(404, 'There is no resource at this path.', path);
  }
  if (method !== 'GET') throw new Refusal(405, `${found.operation.name} is a GET operation.`, method);
  return {
    operation: found.operation,
    rawSubject: segments[found.segments.findIndex((segment) => segment.startsWith('{'))],
  };
}
