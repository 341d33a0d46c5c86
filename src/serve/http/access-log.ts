import { operations } from '../../sources/finances/api-v0/operations.js';
import type { Access } from '../../core/http-server/answer.js';
import { targetOf } from '../../core/http-server/target.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** Parameters whose values tell nothing that must stay secret. */
const shownParameters = new Set(
  Object.values(operations).flatMap(({ range }) => [
    'MaxResultsPerPage',
    ...(range === undefined ? [] : [range.after, range.before]),
  ]),
);

/** Longer targets are cut. */
const longestTarget = 300;

/**
 * `2026-01-31T12:00:00.000Z GET /finances/v0/financialEvents?PostedAfter=2026-01-01 200 12ms 4711B REQUEST-ID`: one line,
 * whatever came, without tokens, and `-` for what there isn't. `now`: milliseconds since 1970.
 */
export function accessLine({ method, target, status, ms, bytes, requestId }: Access, now: number): string {
  const size = bytes === undefined ? '-' : `${bytes}B`;
  const words = [isoInstant(now), method || '-', shownTarget(target) || '-', status || '-'];
  return [...words, `${Math.round(ms)}ms`, size, requestId].join(' ');
}

/** A target without the values of parameters that may be secret, and without what could be taken for another line. */
function shownTarget(target: string): string {
  const { path, query } = targetOf(target);
  const pairs = query.split('&').map((pair) => {
    const [name = ''] = pair.split('=', 1);
    return shownParameters.has(name) || !pair.includes('=') ? pair : `${name}=…`;
  });
  const shown = query === '' ? path : `${path}?${pairs.join('&')}`;
  const plain = shown.replaceAll(/[^\x21-\x7e…]/g, '?');
  return plain.length > longestTarget ? `${plain.slice(0, longestTarget)}…` : plain;
}
