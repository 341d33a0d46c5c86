import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import type { TransactionBackend } from '../../../src/serve/api-2024-06-19/transaction-backend.js';

/** A result and where it stands; one with an empty list name is a group. */
export interface DatedItem extends BackendItem {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly group?: string;
  readonly order?: string;
}

export function event(at: number | string, id: string | number, more: Partial<DatedItem> = {}): DatedItem {
  const instant = typeof at === 'number' ? at : Date.parse(at);
  return { at: instant, list: 'ShipmentEventList', json: `{"id":${JSON.stringify(id)}}`, ...more };
}

export function group(at: number | string, id: string): DatedItem {
  return event(at, id, { list: '', group: id, json: `{"FinancialEventGroupId":${JSON.stringify(id)}}` });
}

/** A backend over an array, which tests may add to while they read: items go by instant, then by place in the array. */
export function arrayBackend(items: readonly DatedItem[]): Backend {
  const numbered = () =>
    items.map((item, index) => ({ item, index })).sort((a, b) => a.item.at - b.item.at || a.index - b.index);

  function page(wanted: (item: DatedItem) => boolean, { cursor, limit, asOf }: BackendQuery): BackendPage {
    const [lastAt = -Infinity, lastIndex = -1] = cursor?.split('/').map(Number) ?? [];
    const rest = numbered().filter(
      ({ item, index }) =>
        wanted(item) && item.at <= asOf && (item.at > lastAt || (item.at === lastAt && index > lastIndex)),
    );
    const shown = rest.slice(0, limit);
    const last = shown.at(-1);
    const next = rest.length > limit && last !== undefined ? `${last.item.at}/${last.index}` : undefined;
    return { items: shown.map(({ item }) => item), next };
  }
  const answer = (found: BackendPage | undefined) => Promise.resolve(found);
  const isEvent = (item: DatedItem) => item.list !== '';

  return {
    groups: ({ start, end }, query) =>
      Promise.resolve(page((item) => !isEvent(item) && item.at >= start && item.at < end, query)),
    events: ({ start, end }, query) =>
      Promise.resolve(page((item) => isEvent(item) && item.at >= start && item.at < end, query)),
    eventsOfGroup: (id, query, { start, end } = { start: -Infinity, end: Infinity }) => {
      const isIts = (item: DatedItem) => isEvent(item) && item.group === id && item.at >= start && item.at < end;
      return answer(items.some((item) => item.group === id) ? page(isIts, query) : undefined);
    },
    eventsOfOrder: (id, query) =>
      answer(items.some((item) => item.order === id) ? page((item) => item.order === id, query) : undefined),
  };
}

/** A backend whose transactions come from another function; the rest is as it was. */
export function withTransactions(
  backend: TransactionBackend,
  transactions: TransactionBackend['transactions'],
): TransactionBackend {
  return {
    transactions,
    summaries: (question, query) => backend.summaries(question, query),
    payouts: (question, query) => backend.payouts(question, query),
  };
}
