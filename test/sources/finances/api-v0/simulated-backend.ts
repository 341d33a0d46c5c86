import { isoInstant } from '../../../../src/core/numeric/instant.js';
import type { Recorded } from '../../../engine/http/recording-server.js';
import { invalidInput, type Scripted } from '../../../engine/paging/scripted-server.js';

/** An event of a small backend. Few values and few instants: many are equal, and many stand at the same instant. */
export interface SmallEvent {
  /** Where it stands: milliseconds since 1970. */
  readonly at: number;
  /** Whether it tells so. */
  readonly dated: boolean;
  readonly list: string;
  readonly value: number;
}

export interface Troubles {
  /** Numbers of requests, from 1, before which every token dies. */
  readonly deaths: ReadonlySet<number>;
  /** Numbers of requests before which an event arrives, whatever its instant. */
  readonly arrivals: ReadonlyMap<number, SmallEvent>;
  /** Numbers of requests that are answered with an empty page and a token, when they begin or go on with a chain. */
  readonly gaps: ReadonlySet<number>;
  /** Changes the order of what stands at the same instant from one chain to the next. */
  readonly shuffle: number;
}

/** One row as it is told apart: by its list and bytes. */
export function rowOf({ at, dated, list, value }: SmallEvent): string {
  return `${list} ${JSON.stringify(dated ? { PostedDate: isoInstant(at), value } : { value })}`;
}

/**
 * The events of a backend by dates: in order of time from page to page, list by list on each page. A token names the last
 * event that was given, so that arrivals neither shift nor repeat others.
 */
export function simulatedBackend(initial: readonly SmallEvent[], troubles: Troubles) {
  const backend = [...initial];
  let born = 0;
  let chains = 0;
  const answer = (number: number, { url }: Recorded): Scripted => {
    const arrived = troubles.arrivals.get(number);
    if (arrived !== undefined) backend.push(arrived);
    if (troubles.deaths.has(number)) born = number;
    const query = new URL(url, 'http://host').searchParams;
    const size = Number(query.get('MaxResultsPerPage'));
    const token = query.get('NextToken');
    const [birth = number, chain = ++chains, from = 0, to = 0, lastAt = -1, lastRank = -1] =
      token?.split('/').map(Number) ?? [];
    if (token !== null && birth <= born) return invalidInput('Token is not valid, token duration is 3 minutes.');
    const after = token === null ? Date.parse(query.get('PostedAfter') ?? '') : from;
    const before = token === null ? Date.parse(query.get('PostedBefore') ?? '') : to;
    const rest = backend
      .map((event, index) => ({ event, rank: ((index + 1) * (chain * troubles.shuffle + 1) * 7919) % 10_007 }))
      .filter(({ event, rank }) => event.at > lastAt || (event.at === lastAt && rank > lastRank))
      .filter(({ event }) => event.at >= after && event.at < before)
      .sort((a, b) => a.event.at - b.event.at || a.rank - b.rank);
    const shown = troubles.gaps.has(number) ? [] : rest.slice(0, size);
    const last = shown.at(-1);
    const place = last === undefined ? [lastAt, lastRank] : [last.event.at, last.rank];
    const next = rest.length > shown.length ? [number, chain, after, before, ...place].join('/') : undefined;
    return {
      body: bodyOf(
        shown.map(({ event }) => event),
        next,
      ),
    };
  };
  return { answer, backend };
}

function bodyOf(events: readonly SmallEvent[], next: string | undefined): string {
  const lists = ['FeeList', 'SaleList'].map((list) => {
    const rows = events.filter((event) => event.list === list).map((event) => rowOf(event).slice(list.length + 1));
    return `"${list}":[${rows.join(',')}]`;
  });
  const token = next === undefined ? '' : `"NextToken":"${next}",`;
  return `{"payload":{${token}"FinancialEvents":{${lists.join(',')}}}}`;
}
