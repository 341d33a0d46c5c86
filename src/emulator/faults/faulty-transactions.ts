import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import { parseInstant, shortInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type { BackendItem, BackendPage } from '../../serve/operation/backend-page.js';
import type { TransactionBackend } from '../../serve/api-2024-06-19/transaction-backend.js';
import type { FaultInjector } from './fault-injector.js';
import type { FaultKind } from './fault-settings.js';
import { itemOrder, reordered } from './item-order.js';

/** Rewrites the JSON of a member's value; undefined removes the member. */
type MemberRewriter = (name: string, json: string) => string | undefined;

/** A JSON text with the members of all its objects rewritten; numbers and strings stay unchanged, byte for byte. */
export function rewritten(json: string, rewrite: MemberRewriter): string {
  const tape = new Tape();
  scan(Buffer.from(json), tape);
  function rewrittenNode(node: number): string {
    const text = tape.text(node);
    if (text.startsWith('{')) {
      const members = [...tape.keys(node)].flatMap((key) => {
        const value = rewrite(tape.stringValue(key), rewrittenNode(key + 1));
        return value === undefined ? [] : [`${tape.text(key)}:${value}`];
      });
      return `{${members.join(',')}}`;
    }
    if (!text.startsWith('[')) return text;
    const elements: string[] = [];
    for (let at = node + 1; at < tape.next(node); at = tape.next(at)) elements.push(rewrittenNode(at));
    return `[${elements.join(',')}]`;
  }
  return rewrittenNode(0);
}

/** Makes empty lists null and absent alternately. */
function nullLists(): MemberRewriter {
  let count = 0;
  return (_name, json) => {
    if (json !== '[]') return json;
    count += 1;
    return count % 2 === 0 ? undefined : 'null';
  };
}

const breakdownObject: MemberRewriter = (name, json) =>
  name === 'breakdowns' && json.startsWith('[{') ? `{"breakdowns":${json}}` : json;

const statusCase: MemberRewriter = (name, json) =>
  name === 'transactionStatus'
    ? json.toLowerCase().replaceAll(/[a-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1))
    : json;

/** How each fault rewrites the transactions that it hits. */
const rewriters: readonly (readonly [FaultKind, () => MemberRewriter])[] = [
  ['null-lists', nullLists],
  ['breakdown-object', () => breakdownObject],
  ['status-case', () => statusCase],
];

/** The text before a maturity date, and the date. */
const maturity = /("maturityDate":")([^"]+)/;
/** Matches the id of the deferred sale that a transaction releases. */
const releasedId = /"relatedIdentifierName":"DEFERRED_TRANSACTION_ID","relatedIdentifierValue":"([^"]+)"/;

/**
 * A backend with the live service's worst behaviour: transactions in shapes that its model lacks, recent ones late, old
 * ones missing, or none at all. Whether a transaction is hidden depends on its id and the instant of the chain's first
 * request.
 */
export function faultyTransactions(backend: TransactionBackend, injector: FaultInjector): TransactionBackend {
  const faulty = withFaults(backend, injector);
  const order = itemOrder(injector);
  if (order === undefined) return faulty;
  return {
    transactions: (question, query) => reordered(order, query, (each) => faulty.transactions(question, each)),
    summaries: (question, query) => reordered(order, query, (each) => faulty.summaries(question, each)),
    payouts: (question, query) => reordered(order, query, (each) => faulty.payouts(question, each)),
  };
}

function withFaults(backend: TransactionBackend, injector: FaultInjector): TransactionBackend {
  const unlessNone = async (ask: () => Promise<BackendPage>): Promise<BackendPage> => {
    if (!injector.has('no-transactions')) return ask();
    injector.count('no-transactions');
    return { items: [], next: undefined };
  };
  return {
    transactions: (question, query) =>
      unlessNone(async () => {
        const { items, next } = await backend.transactions(question, query);
        const visible = items.filter((item) => !isHidden(injector, item, query.asOf));
        return { items: visible.map((item) => sentTransaction(injector, item)), next };
      }),
    summaries: (question, query) => unlessNone(() => backend.summaries(question, query)),
    payouts: (question, query) => unlessNone(() => backend.payouts(question, query)),
  };
}

function isHidden(injector: FaultInjector, item: BackendItem, asOf: number): boolean {
  const { transactionId, postedDate } = JSON.parse(item.json) as Readonly<Record<string, unknown>>;
  const id = String(transactionId);
  if (injector.has('withdrawn') && isWithdrawn(injector, item, id, asOf)) return true;
  const posted = typeof postedDate === 'string' ? parseInstant(postedDate) : undefined;
  if (posted === undefined) return false;
  return injector.hidesOld(posted, asOf) || injector.hidesRecent(id, posted, asOf);
}

/** Whether a deferred sale is withdrawn by an instant; the transaction that would have released it never appears. */
function isWithdrawn(injector: FaultInjector, { json }: BackendItem, id: string, asOf: number): boolean {
  const released = releasedId.exec(json)?.[1];
  const matures = parseInstant(maturity.exec(json)?.[2] ?? '');
  if (matures === undefined || !injector.hitsItem('withdrawn', released ?? id)) return false;
  const isGone = released !== undefined || asOf >= matures - injector.amount('withdrawn') * dayMs;
  if (isGone) injector.count('withdrawn');
  return isGone;
}

function sentTransaction(injector: FaultInjector, original: BackendItem): BackendItem {
  const item = injector.has('early-release') ? withLaterMaturity(injector, original) : original;
  const hits = rewriters.filter(([kind]) => injector.hitsItem(kind, item.json));
  for (const [kind] of hits) injector.count(kind);
  return { ...item, json: hits.reduce((json, [, rewriter]) => rewritten(json, rewriter()), item.json) };
}

/** A sale with a maturity date after that of its release. */
function withLaterMaturity(injector: FaultInjector, item: BackendItem): BackendItem {
  const { transactionId } = JSON.parse(item.json) as Readonly<Record<string, unknown>>;
  const [, before = '', date = ''] = maturity.exec(item.json) ?? [];
  const matures = parseInstant(date);
  if (matures === undefined || !injector.hitsItem('early-release', String(transactionId))) return item;
  injector.count('early-release');
  const later = shortInstant(matures + injector.amount('early-release') * dayMs);
  return { ...item, json: item.json.replace(maturity, () => `${before}${later}`) };
}
