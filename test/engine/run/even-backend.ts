import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import type { Window } from '../../../src/core/windows.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { settlement, shipment } from '../../app/load/backend-items.js';

const dayMs = 86_400_000;

export interface EvenBackend extends Backend {
  /** Every event, in order. */
  readonly items: readonly BackendItem[];
}

/** A seller whose days are all alike: so many small events on each, in settlements of so many days. */
export function evenBackend(from: string, days: number, perDay: number, settlementDays: number): EvenBackend {
  const start = Date.parse(from);
  const iso = (ms: number) => new Date(ms).toISOString();
  const idOf = (day: number) => `GROUP-${Math.floor(day / settlementDays)}`;
  const items = Array.from({ length: days * perDay }, (_, number) => {
    const at = start + Math.floor((number * dayMs) / perDay);
    return shipment(iso(at), `111-0000000-${String(number).padStart(7, '0')}`, '1.25', idOf(number / perDay));
  });
  const groups = Array.from({ length: Math.ceil(days / settlementDays) }, (_, number) => {
    const begins = start + number * settlementDays * dayMs;
    return settlement(`GROUP-${number}`, iso(begins), iso(begins + settlementDays * dayMs));
  });
  const byGroup = new Map(groups.map(({ group }) => [group, items.filter((item) => item.group === group)]));

  function page(all: readonly BackendItem[], { cursor = '0', limit }: BackendQuery): BackendPage {
    const end = Number(cursor) + limit;
    return { items: all.slice(Number(cursor), end), next: end < all.length ? String(end) : undefined };
  }
  const within = ({ start: least, end }: Window) => items.filter(({ at }) => at >= least && at < end);
  return {
    items,
    groups: ({ start: least, end }, query) =>
      Promise.resolve(
        page(
          groups.filter(({ at }) => at >= least && at < end),
          query,
        ),
      ),
    events: (range, query) => Promise.resolve(page(within(range), query)),
    eventsOfGroup: (id, query) => {
      const own = byGroup.get(id);
      return Promise.resolve(own && page(own, query));
    },
    eventsOfOrder: () => Promise.resolve(undefined),
  };
}
