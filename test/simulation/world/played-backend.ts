import { hash } from 'node:crypto';
import { createSeller, type ProfileName } from '../../../src/emulator/seller/seller.js';
import type { Clock } from '../../../src/core/clock.js';
import { dayMs, type Window } from '../../../src/core/windows.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import type { TransactionQuestion } from '../../../src/serve/api-2024-06-19/transaction-backend.js';
import { AnswerLog } from './answers.js';

/** What a seller is like. */
export interface SellerTraits {
  readonly seed: number;
  readonly perDay: number;
  /** Days of history that the seller has. */
  readonly historyDays: number;
  readonly profile: ProfileName;
  /** Of how many events one is late, one changes and one vanishes; 0: none. */
  readonly oneIn: number;
  /** The most days that these come after the event. */
  readonly mostDays: number;
}

export interface PlayedBackend extends Backend {
  readonly answers: AnswerLog;
  /** All events of a range as the backend has them at an instant. */
  texts(range: Window, asOf: number): Promise<string[]>;
  /** All transactions of a range. */
  transactionTexts(range: Window, asOf: number): Promise<string[]>;
  /** Events with their lists. */
  items(range: Window, asOf: number): Promise<BackendItem[]>;
}

/** A backend of a synthetic seller, some of whose events arrive late, change, or vanish; it notes what it has answered. */
export function playedBackend(
  { seed, perDay, historyDays, profile, oneIn, mostDays }: SellerTraits,
  clock: Clock,
): PlayedBackend {
  const seller = createSeller({ seed, events: Math.round(perDay * historyDays), days: historyDays, profile }, clock);

  /** The event as it is at an instant; undefined where it isn't there. */
  const shown = (item: BackendItem, asOf: number): BackendItem | undefined => {
    if (oneIn === 0) return item;
    const digest = Buffer.from(hash('md5', `${seed} ${item.list} ${item.json}`), 'hex');
    const kind = digest.readUInt32LE(0) % oneIn;
    if (kind > 2) return item;
    const posted = dateOf(item.json);
    if (posted === undefined) return item;
    const turn = posted + Math.floor((digest.readUInt32LE(4) / 2 ** 32) * mostDays * dayMs) + 1;
    if (kind === 0) return asOf >= turn ? item : undefined;
    if (kind === 1) return asOf >= turn ? undefined : item;
    return asOf >= turn ? { ...item, json: item.json.replace(/\}$/, ',"Note":"changed"}') } : item;
  };
  const shownPage = ({ items, next }: BackendPage, { asOf }: BackendQuery): BackendPage => ({
    items: items.flatMap((item) => shown(item, asOf) ?? []),
    next,
  });
  const events = async (range: Window, query: BackendQuery) => shownPage(await seller.events(range, query), query);

  return {
    ...seller,
    events,
    answers: new AnswerLog(),
    texts: async (range, asOf) => (await allItems((query) => events(range, query), asOf)).map(({ json }) => json),
    transactionTexts: async (range, asOf) => {
      const question = { range, status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
      const none = { items: [], next: undefined };
      const ask = async (query: BackendQuery) => (await seller.byTransaction?.transactions(question, query)) ?? none;
      return (await allItems(ask, asOf)).map(({ json }) => json);
    },
    items: (range, asOf) => allItems((query) => events(range, query), asOf),
  };
}

/** The same backend, which notes what it answers. */
export function notingBackend(backend: Backend, answers: AnswerLog): Backend {
  const noted = async <T extends BackendPage | undefined>(
    question: string,
    query: BackendQuery,
    answer: Promise<T>,
  ) => {
    const page = await answer;
    if (page !== undefined) answers.note(question, query, page);
    return page;
  };
  const { byTransaction } = backend;
  return {
    groups: (range, query) => noted(`groups ${range.start}/${range.end}`, query, backend.groups(range, query)),
    events: (range, query) => noted(`events ${range.start}/${range.end}`, query, backend.events(range, query)),
    eventsOfGroup: (id, query, range) => {
      const answer = backend.eventsOfGroup(id, query, range);
      return range === undefined ? noted(`group ${id}`, query, answer) : answer;
    },
    eventsOfOrder: (id, query) => backend.eventsOfOrder(id, query),
    byTransaction: byTransaction && {
      transactions: (question, query) =>
        noted(transactionsQuestion(question), query, byTransaction.transactions(question, query)),
      summaries: (question, query) => byTransaction.summaries(question, query),
      payouts: (question, query) => byTransaction.payouts(question, query),
    },
  };
}

function transactionsQuestion({ range, status, orderId, groupId }: TransactionQuestion): string {
  return `transactions ${range.start}/${range.end} ${status ?? ''}${orderId ?? ''}${groupId ?? ''}`.trimEnd();
}

/** All items of a question. */
export async function allItems(
  ask: (query: BackendQuery) => Promise<BackendPage>,
  asOf: number,
): Promise<BackendItem[]> {
  const all: BackendItem[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await ask({ cursor, limit: 500, asOf });
    all.push(...items);
    cursor = next;
  } while (cursor !== undefined);
  return all;
}

const datePattern = /"(?:PostedDate|postedDate|TransactionPostedDate|TransactionCreationDate)":"([^"]*)"/;

function dateOf(json: string): number | undefined {
  const [, text] = datePattern.exec(json) ?? [];
  const instant = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}
