import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import { parseInstant, shortInstant } from '../../core/numeric/instant.js';
import type { LedgerItem, LedgerPage, TransactionLedger } from '../../serve/http/ledger.js';
import type { FaultInjector } from './fault-injector.js';
import type { FaultKind } from './fault-settings.js';

const hour = 3_600_000;
const day = 24 * hour;

/** Rewrites the JSON of a member's value; undefined removes the member. */
type Rewriting = (name: string, json: string) => string | undefined;

/** A JSON text with the members of all its objects rewritten; numbers and strings stay unchanged, byte for byte. */
export function rewritten(json: string, change: Rewriting): string {
  const tape = new Tape();
  scan(Buffer.from(json), tape);
  function textOf(node: number): string {
    const text = tape.text(node);
    if (text.startsWith('{')) {
      const members = [...tape.keys(node)].flatMap((key) => {
        const value = change(tape.stringValue(key), textOf(key + 1));
        return value === undefined ? [] : [`${tape.text(key)}:${value}`];
      });
      return `{${members.join(',')}}`;
    }
    if (!text.startsWith('[')) return text;
    const elements: string[] = [];
    for (let at = node + 1; at < tape.next(node); at = tape.next(at)) elements.push(textOf(at));
    return `[${elements.join(',')}]`;
  }
  return textOf(0);
}

/** Makes empty lists null and absent by turns. */
function nullLists(): Rewriting {
  let turn = 0;
  return (_name, json) => {
    if (json !== '[]') return json;
    turn += 1;
    return turn % 2 === 0 ? undefined : 'null';
  };
}

const breakdownObject: Rewriting = (name, json) =>
  name === 'breakdowns' && json.startsWith('[{') ? `{"breakdowns":${json}}` : json;

const statusCase: Rewriting = (name, json) =>
  name === 'transactionStatus'
    ? json.toLowerCase().replaceAll(/[a-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1))
    : json;

/** How each fault rewrites the transactions that it hits. */
const rewritings: readonly (readonly [FaultKind, () => Rewriting])[] = [
  ['null-lists', nullLists],
  ['breakdown-object', () => breakdownObject],
  ['status-case', () => statusCase],
];

/** The faults that change the transactions of a ledger. */
const shownFaults: readonly FaultKind[] = [
  ...rewritings.map(([kind]) => kind),
  ...(['recent-incomplete', 'history-limit', 'early-release', 'withdrawn', 'no-transactions'] as const),
];

const maturity = /("maturityDate":")([^"]+)/;
/** Matches the id of the deferred sale that a transaction releases. */
const releasedId = /"relatedIdentifierName":"DEFERRED_TRANSACTION_ID","relatedIdentifierValue":"([^"]+)"/;

const empty: LedgerPage = { items: [], next: undefined };

/**
 * A ledger with the live service's worst behaviour: transactions in shapes that its model lacks, recent ones late, old
 * ones missing, or none at all. Whether a transaction is hidden depends on its id and the instant of the chain's first
 * request.
 */
export function faultyTransactions(ledger: TransactionLedger, injector: FaultInjector): TransactionLedger {
  if (!shownFaults.some((kind) => injector.has(kind))) return ledger;
  const rewriting = rewritings.filter(([kind]) => injector.has(kind));
  const isRecentIncomplete = injector.has('recent-incomplete');
  const isHistoryLimited = injector.has('history-limit');
  const isWithdrawing = injector.has('withdrawn');
  const isEarly = injector.has('early-release');

  /** Whether a deferred sale is withdrawn by an instant; the transaction that would have released it never appears. */
  function isWithdrawn({ json }: LedgerItem, id: string, asOf: number): boolean {
    const released = releasedId.exec(json)?.[1];
    const matures = parseInstant(maturity.exec(json)?.[2] ?? '');
    if (matures === undefined || !injector.hitsItem('withdrawn', released ?? id)) return false;
    const isGone = released !== undefined || asOf >= matures - injector.amount('withdrawn') * day;
    if (isGone) injector.count('withdrawn');
    return isGone;
  }

  function isHidden(item: LedgerItem, asOf: number): boolean {
    if (!isRecentIncomplete && !isHistoryLimited && !isWithdrawing) return false;
    const { transactionId, postedDate } = JSON.parse(item.json) as Readonly<Record<string, unknown>>;
    if (isWithdrawing && isWithdrawn(item, String(transactionId), asOf)) return true;
    const posted = typeof postedDate === 'string' ? parseInstant(postedDate) : undefined;
    if (posted === undefined) return false;
    if (isHistoryLimited && posted < asOf - injector.amount('history-limit') * day) {
      injector.count('history-limit');
      return true;
    }
    const id = String(transactionId);
    const arrives =
      posted + injector.chance('recent-incomplete', id, 'arrival') * injector.amount('recent-incomplete') * hour;
    const isLate = isRecentIncomplete && asOf < arrives && injector.hitsItem('recent-incomplete', id);
    if (isLate) injector.count('recent-incomplete');
    return isLate;
  }

  /** A sale with a maturity date after that of its release. */
  function postponed(item: LedgerItem): LedgerItem {
    const { transactionId } = JSON.parse(item.json) as Readonly<Record<string, unknown>>;
    const [, before = '', date = ''] = maturity.exec(item.json) ?? [];
    const matures = parseInstant(date);
    if (matures === undefined || !injector.hitsItem('early-release', String(transactionId))) return item;
    injector.count('early-release');
    const later = shortInstant(matures + injector.amount('early-release') * day);
    return { ...item, json: item.json.replace(maturity, () => `${before}${later}`) };
  }

  function shown(given: LedgerItem): LedgerItem {
    const item = isEarly ? postponed(given) : given;
    const hits = rewriting.filter(([kind]) => injector.hitsItem(kind, item.json));
    for (const [kind] of hits) injector.count(kind);
    return { ...item, json: hits.reduce((json, [, change]) => rewritten(json, change()), item.json) };
  }

  async function unless(ask: () => Promise<LedgerPage>): Promise<LedgerPage> {
    if (!injector.has('no-transactions')) return ask();
    injector.count('no-transactions');
    return empty;
  }

  return {
    transactions: (question, query) =>
      unless(async () => {
        const { items, next } = await ledger.transactions(question, query);
        return { items: items.filter((item) => !isHidden(item, query.asOf)).map(shown), next };
      }),
    summaries: (question, query) => unless(() => ledger.summaries(question, query)),
    payouts: (question, query) => unless(() => ledger.payouts(question, query)),
  };
}
