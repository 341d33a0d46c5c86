import { operations } from '../../sources/finances/api-v0/operations.js';
import { targetOf } from './routes.js';

/** A request that is over, for a log. */
export interface Access {
  /** '' where what came wasn't HTTP. */
  readonly method: string;
  /** As it came. */
  readonly target: string;
  /** 0 where no answer went out. */
  readonly status: number;
  /** From the request's headers to the answer's last byte, milliseconds. */
  readonly ms: number;
  /** Of the answer's body; undefined where not all of it went out. */
  readonly bytes: number | undefined;
  readonly requestId: string;
}

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
  const words = [new Date(now).toISOString(), method || '-', shownTarget(target) || '-', status || '-'];
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
