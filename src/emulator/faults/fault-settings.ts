import { usageError } from '../../core/errors.js';
import type { FaultRequest } from '../../serve/http/fault-injection.js';
import { operations, type OperationName } from '../../sources/finances/api-2024-06-19/operations.js';
import {
  operations as eventOperations,
  type OperationName as EventOperation,
} from '../../sources/finances/api-v0/operations.js';

/** When a fault hits. What is left out doesn't narrow it. */
export interface FaultSettings {
  /** Share of the requests, events or groups, 0 to 1, by chance that follows from the seed; default: the kind's own. */
  readonly share?: number | undefined;
  /** Which requests may be hit; `share` draws among them. */
  readonly when?: ((request: FaultRequest) => boolean) | undefined;
  /** Only so many hits; a spell is one. */
  readonly times?: number | undefined;
  /**
   * A spell: from a hit on, for so many milliseconds of the service's clock, every request of the same operation (that
   * `when` allows) is hit as well.
   */
  readonly forMs?: number | undefined;
  /** Minutes, days, pages: what the kind's rule says; default: the kind's own. */
  readonly amount?: number | undefined;
}

/**
 * The faults that are switched on. `all`: its share of the requests meets one of the passing faults that have no entry
 * of their own, each as often as the others.
 */
export type Faults = Readonly<Partial<Record<FaultKind | 'all', FaultSettings | undefined>>>;

function checkKind(kind: string, settings: FaultSettings): void {
  if (kind !== 'all' && !isFaultKind(kind)) throw usageError(`expected a fault that exists, got "${kind}"`);
  const { shareOf, amount: known } =
    kind === 'all' ? { shareOf: 'requests' as const, amount: undefined } : faultRules[kind];
  const { share, when, times, forMs, amount } = settings;
  if (share !== undefined && !(share >= 0 && share <= 1)) {
    throw usageError(`expected a share of ${kind} from 0 to 1, got ${share}`);
  }
  if (times !== undefined && !(Number.isSafeInteger(times) && times >= 0)) {
    throw usageError(`expected a whole number from 0 as times of ${kind}, got ${times}`);
  }
  if (forMs !== undefined && !(forMs > 0)) {
    throw usageError(`expected a spell of ${kind} longer than 0 ms, got ${forMs}`);
  }
  if (shareOf === 'none' && share !== undefined) {
    throw usageError(`${kind} applies to the whole service and takes no share`);
  }
  if (shareOf !== 'requests' && (when ?? times ?? forMs) !== undefined) {
    throw usageError(`${kind} doesn't hit single requests: it takes no when, times or forMs`);
  }
  if (amount === undefined) return;
  if (known === undefined) throw usageError(`${kind} takes no amount`);
  if (!(Number.isFinite(amount) && amount > 0 && (!known.whole || Number.isSafeInteger(amount)))) {
    const expected = known.whole ? 'a whole number from 1 on' : 'a number above 0';
    throw usageError(`expected the amount of ${kind} (${known.unit}) to be ${expected}, got ${amount}`);
  }
}

/** Throws a USAGE error for settings that can't be. */
export function checkFaults(faults: Faults): void {
  for (const [kind, settings] of Object.entries(faults)) if (settings !== undefined) checkKind(kind, settings);
}

const decimal = String.raw`\d{1,15}(?:\.\d{1,15})?`;
const shape = new RegExp(`^(?<kind>[a-z\\d-]+)(?::(?<amount>${decimal}))?(?:=(?<share>${decimal}))?$`);

function wrong(entry: string, why: string): Error {
  return usageError(
    `expected --faults to be a comma-separated list of KIND, KIND=SHARE or KIND:N=SHARE, got ` +
      `${JSON.stringify(entry.slice(0, 80))} (${why}); the kinds are ${[...faultKinds, 'all'].join(', ')}`,
  );
}

/**
 * Reads the text form of faults: `throttled=0.05,window-limit:7,all=0.1`. A share is from 0 to 1, an amount comes after
 * a colon, and what is left out is the kind's own. Throws a USAGE error for anything else.
 */
export function parseFaults(text: string): Faults {
  const faults: Record<string, FaultSettings> = {};
  for (const entry of text.split(',').map((piece) => piece.trim())) {
    const { kind, amount, share } = shape.exec(entry)?.groups ?? {};
    if (kind === undefined) throw wrong(entry, 'not of that form');
    if (kind !== 'all' && !isFaultKind(kind)) throw wrong(entry, 'no such kind');
    if (Object.hasOwn(faults, kind)) throw wrong(entry, 'given twice');
    if (kind === 'all' && share === undefined) throw wrong(entry, 'all needs a share');
    faults[kind] = {
      ...(amount !== undefined && { amount: Number(amount) }),
      ...(share !== undefined && { share: Number(share) }),
    };
    try {
      checkFaults({ [kind]: faults[kind] });
    } catch (error) {
      throw wrong(entry, error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}

/** One way in which the live service is known to fall short of its specification. */
interface FaultRule {
  /** What a client sees, in one line for the help; `N` stands for the amount. */
  readonly about: string;
  /** What a share is a share of; `none`: it holds for the whole service, and there is nothing to choose. */
  readonly shareOf: 'requests' | 'events' | 'groups' | 'transactions' | 'none';
  /** The share where none is given. */
  readonly share: number;
  readonly amount?: FaultAmount;
  /** How long it lasts from its first hit on, milliseconds, by its amount; left out: one request. */
  readonly spellMs?: (amount: number) => number;
  /** Whether it hits one request alone and the same request succeeds when it is sent again: `all` draws among these. */
  readonly passing?: true;
  /** Whether it can hit the sign-in too. */
  readonly signIn?: true;
  /** The only operations that it can hit; left out: any. */
  readonly only?: readonly FaultRequest['operation'][];
}

interface FaultAmount {
  readonly unit: string;
  /** Where none is given. */
  readonly usual: number;
  /** Whole numbers from 1 on; else any number above 0. */
  readonly whole: boolean;
}

const whole = (usual: number, unit: string): FaultAmount => ({ usual, unit, whole: true });
const some = (usual: number, unit: string): FaultAmount => ({ usual, unit, whole: false });

/** Hits one request instead of its answer or on its way; the next try succeeds. */
const passing = { shareOf: 'requests', share: 1, passing: true } as const;
const requests = { shareOf: 'requests', share: 1 } as const;
const service = { shareOf: 'none', share: 1 } as const;
const transactions = { shareOf: 'transactions', share: 1 } as const;
/** Hits requests to Finances 2024-06-19. */
const newer = { ...requests, only: Object.keys(operations) as OperationName[] };

const table = {
  throttled: { ...passing, about: '429 under the quota, without Retry-After' },
  'throttled-retry-after': {
    ...passing,
    amount: whole(2, 'seconds'),
    about: '429 under the quota, with Retry-After: N',
  },
  'throttled-spell': {
    ...requests,
    amount: some(5, 'minutes'),
    spellMs: (minutes) => minutes * 60_000,
    about: '429 for N minutes, for one operation',
  },
  'rate-missing': { ...passing, about: 'an answer without x-amzn-RateLimit-Limit' },
  'rate-changed': {
    ...requests,
    amount: some(0.25, 'requests per second'),
    spellMs: () => Infinity,
    about: 'a new rate of N per second, applied and announced from the first hit on',
  },
  'invalid-input': { ...passing, about: '400 InvalidInput; the identical request then succeeds' },
  'page-limit': {
    ...requests,
    // The others have no parameter for it.
    only: Object.keys(eventOperations) as EventOperation[],
    amount: whole(50, 'results'),
    about: '400 InvalidInput if the requested page size is larger than N results',
  },
  'body-limit': {
    ...requests,
    amount: whole(10_000_000, 'bytes'),
    about: '400 InvalidInput if the body would be larger than N bytes',
  },
  'window-limit': {
    ...requests,
    amount: some(14, 'days'),
    about: '400 InvalidInput for a window of events of more than N days',
  },
  'chain-limit': { ...requests, amount: whole(150, 'pages'), about: '400 InvalidInput beyond N pages of a chain' },
  'group-limit': {
    ...requests,
    amount: whole(15_300, 'events'),
    about: '400 InvalidInput at the page that takes a group beyond N events',
  },
  'token-expired': {
    ...requests,
    amount: some(25, 'minutes'),
    about: '400 "token duration is N minutes" for a younger NextToken, which stays invalid',
  },
  'access-token-expired': {
    ...passing,
    about: '403 Unauthorized, the access token has expired; with a sign-in it stays invalid',
  },
  'access-denied': { ...requests, about: '403 Unauthorized, without a reason' },
  'server-error': { ...passing, signIn: true, about: '500 InternalFailure' },
  unavailable: { ...passing, signIn: true, about: '503 ServiceUnavailable' },
  'unavailable-html': { ...passing, signIn: true, about: '503 with a web page instead of JSON' },
  html: { ...passing, signIn: true, about: '200 with a web page instead of JSON' },
  'cut-body': { ...passing, signIn: true, about: 'the connection closes in the middle of the body' },
  'wrong-length': { ...passing, signIn: true, about: 'a Content-Length shorter than the body' },
  reset: { ...passing, signIn: true, about: 'the connection is reset before any byte of the answer' },
  'no-answer': { ...passing, signIn: true, about: 'an answer that never arrives' },
  'no-body': { ...passing, signIn: true, about: 'headers, and a body that never arrives' },
  'empty-page': { ...passing, about: 'a page without results that has a NextToken' },
  'token-loop': { ...passing, about: 'a page whose NextToken is the one of its request' },
  'clock-fast': { ...service, amount: some(5, 'minutes'), about: "the service's clock is N minutes fast" },
  'clock-slow': { ...service, amount: some(5, 'minutes'), about: "the service's clock is N minutes slow" },
  'deferred-events': {
    shareOf: 'events',
    share: 0.1,
    amount: some(14, 'days'),
    about: 'events that appear N days after the date they carry',
  },
  'recent-incomplete': {
    shareOf: 'events',
    share: 0.5,
    amount: some(48, 'hours'),
    about: 'events of the last N hours that appear late, each after a different delay',
  },
  'groups-missing': {
    ...requests,
    amount: whole(2, 'groups'),
    about: 'a list that omits about one group in N, different ones each time',
  },
  'total-missing': {
    shareOf: 'groups',
    share: 1,
    amount: some(24, 'hours'),
    about: 'groups without OriginalTotal for N hours after they close',
  },
  'unknown-list': {
    shareOf: 'events',
    share: 0,
    about: 'PerformanceBondRefundEventList in every body, empty or with a SHARE of events',
  },
  'page-twice': { ...newer, share: 0.2, about: '2024-06-19: a page that its NextToken returns once more' },
  'null-token': { ...newer, about: '2024-06-19: a last page with "nextToken":null' },
  'no-list': { ...newer, about: '2024-06-19: 200 without the list of results' },
  'deep-500': {
    ...newer,
    only: ['listTransactions'],
    amount: some(14, 'days'),
    about: '2024-06-19: 500 on each later page of more than N days',
  },
  'token-without-arguments': {
    ...newer,
    about: '2024-06-19: a nextToken that is valid without the parameters of the first request',
  },
  'null-lists': { ...transactions, about: '2024-06-19: lists that are null or absent where they are empty' },
  'breakdown-object': { ...transactions, about: '2024-06-19: breakdowns as an object {"breakdowns":[…]}' },
  'status-case': { ...transactions, about: '2024-06-19: a status such as Deferred or Deferred_Released' },
  'early-release': {
    ...transactions,
    share: 0.2,
    amount: some(3, 'days'),
    about: '2024-06-19: sales released N days before their maturity date',
  },
  withdrawn: {
    ...transactions,
    share: 0.2,
    amount: some(2, 'days'),
    about: '2024-06-19: deferred sales that disappear for good N days before they mature',
  },
  'no-transactions': { ...service, about: '2024-06-19: an account without any results' },
  'history-limit': { ...service, amount: some(730, 'days'), about: 'no results older than N days' },
} as const satisfies Record<string, FaultRule>;

export type FaultKind = keyof typeof table;

/** Every kind of fault, in the order of the help. */
export const faultRules: Readonly<Record<FaultKind, FaultRule>> = table;

export const faultKinds = Object.keys(table) as readonly FaultKind[];

function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(table, text);
}

/** One line for each kind with its usual amount, for the help; `*` marks those that `all` draws among. */
export function faultLines(): readonly string[] {
  const forms = faultKinds.map((kind) => {
    const { amount, passing } = faultRules[kind];
    return `${kind}${amount === undefined ? '' : `:${amount.usual}`}${passing === true ? ' *' : ''}`;
  });
  const width = Math.max(...forms.map(({ length }) => length)) + 2;
  return faultKinds.map((kind, index) => `${(forms[index] ?? kind).padEnd(width)}${faultRules[kind].about}`);
}
