import { type Operation, operations } from '../../sources/finances/api-v0/operations.js';
import { invalidInput, notAllowed, notFound } from './service-refusals.js';

export interface Route {
  readonly operation: Operation;
  /** The path parameter as it stands in the address, still percent-encoded; undefined where the path has none. */
  readonly rawSubject: string | undefined;
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
    throw notFound('There is no resource at this path.', path);
  }
  if (method !== 'GET') throw notAllowed(`${found.operation.name} is a GET operation.`, method);
  return {
    operation: found.operation,
    rawSubject: segments[found.segments.findIndex((segment) => segment.startsWith('{'))],
  };
}
