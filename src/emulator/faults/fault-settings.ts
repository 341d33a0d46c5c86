import { usageError } from '../../core/errors.js';
import type { FaultRequest } from '../../serve/http/fault-injection.js';
import {
  transactionOperations,
  type TransactionOperationName,
} from '../../sources/finances/api-2024-06-19/operations.js';
import { eventOperations, type EventOperationName } from '../../sources/finances/api-v0/operations.js';

/** When a fault hits; a member that is left out doesn't restrict it. */
export interface FaultSettings {
  /** Share of the requests, events or groups, 0 to 1, drawn by the seed; default: that of the kind. */
  readonly share?: number | undefined;
  /** Selects the requests that may be hit; `share` draws among them. */
  readonly when?: ((request: FaultRequest) => boolean) | undefined;
  /** Largest number of hits; a spell counts as one. */
  readonly times?: number | undefined;
  /**
   * Length of a spell in milliseconds of the server's clock: after a hit, all requests of the same operation that
   * `when` allows are hit until it ends.
   */
  readonly forMs?: number | undefined;
  /** Amount in the unit of the kind, such as minutes, days or pages; default: that of the kind. */
  readonly amount?: number | undefined;
}

/**
 * The enabled faults. `all` hits its share of the requests with one of the passing faults that have no
 * entry themselves, each with the same probability.
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

/** @throws LedgerlakeError USAGE for settings that are invalid */
export function checkFaults(faults: Faults): void {
  for (const [kind, settings] of Object.entries(faults)) if (settings !== undefined) checkKind(kind, settings);
}

const decimalPattern = String.raw`\d{1,15}(?:\.\d{1,15})?`;
const entryPattern = new RegExp(
  `^(?<kind>[a-z\\d-]+)(?::(?<amount>${decimalPattern}))?(?:=(?<share>${decimalPattern}))?$`,
);

function invalidEntry(entry: string, reason: string): Error {
  return usageError(
    `expected --faults to be a comma-separated list of KIND, KIND=SHARE or KIND:N=SHARE, got ` +
      `${JSON.stringify(entry.slice(0, 80))} (${reason}); the kinds are ${[...faultKinds, 'all'].join(', ')}`,
  );
}

/**
 * Reads the text form of faults: `throttled=0.05,window-limit:7,all=0.1`. An amount follows a colon, a share from 0 to
 * 1 an equals sign; the kind's defaults replace missing ones.
 *
 * @throws LedgerlakeError USAGE for any other text
 */
export function parseFaults(text: string): Faults {
  const faults: Record<string, FaultSettings> = {};
  for (const entry of text.split(',').map((entry) => entry.trim())) {
    const { kind, amount, share } = entryPattern.exec(entry)?.groups ?? {};
    if (kind === undefined) throw invalidEntry(entry, 'not of that form');
    if (kind !== 'all' && !isFaultKind(kind)) throw invalidEntry(entry, 'no such kind');
    if (Object.hasOwn(faults, kind)) throw invalidEntry(entry, 'given twice');
    if (kind === 'all' && share === undefined) throw invalidEntry(entry, 'all needs a share');
    faults[kind] = {
      ...(amount !== undefined && { amount: Number(amount) }),
      ...(share !== undefined && { share: Number(share) }),
    };
    try {
      checkFaults({ [kind]: faults[kind] });
    } catch (error) {
      throw invalidEntry(entry, error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}

/** A known deviation of the live service from its specification. */
interface FaultRule {
  /** The effect on a client, in one line for the help; `N` is the amount. */
  readonly about: string;
  /** The set that a share is taken of; `none`: the fault applies to the whole server, and nothing is drawn. */
  readonly shareOf: 'requests' | 'events' | 'groups' | 'transactions' | 'reports' | 'none';
  /** Default share. */
  readonly share: number;
  readonly amount?: {
    readonly unit: string;
    /** Default amount. */
    readonly default: number;
    /** Whether amounts are whole numbers from 1 on; else any number above 0. */
    readonly whole: boolean;
  };
  /** Length of a spell in milliseconds, by its amount; left out: the fault hits single requests. */
  readonly spellMs?: (amount: number) => number;
  /** Whether it hits one request alone, which succeeds when it is sent again: `all` draws among these kinds. */
  readonly passing?: true;
  /** Whether it can also hit the sign-in, and the download of a document. */
  readonly anyRequest?: true;
  /** The operations that it can hit; left out: any. */
  readonly only?: readonly FaultRequest['operation'][];
}

/** The default amount of a fault, in its unit: a whole number, or any number above 0. */
const whole = (value: number, unit: string) => ({ amount: { default: value, unit, whole: true } });
const decimal = (value: number, unit: string) => ({ amount: { default: value, unit, whole: false } });

/** A fault that replaces or damages one answer; the next attempt succeeds. */
const passing = { shareOf: 'requests', share: 1, passing: true } as const;
const requests = { shareOf: 'requests', share: 1 } as const;
const wholeServer = { shareOf: 'none', share: 1 } as const;
const transactions = { shareOf: 'transactions', share: 1 } as const;
const reports = { shareOf: 'reports', share: 1 } as const;
/** Operations with pages of results. */
const listings: readonly FaultRequest['operation'][] = [
  ...(Object.keys(eventOperations) as EventOperationName[]),
  ...(Object.keys(transactionOperations) as TransactionOperationName[]),
  'getReports',
];
/** A fault that hits requests to Finances 2024-06-19 alone. */
const transactionRequests = { ...requests, only: Object.keys(transactionOperations) as TransactionOperationName[] };

const rules = {
  throttled: { ...passing, about: '429 under the quota, without Retry-After' },
  'throttled-retry-after': { ...passing, ...whole(2, 'seconds'), about: '429 under the quota, with Retry-After: N' },
  'throttled-spell': {
    ...requests,
    ...decimal(5, 'minutes'),
    spellMs: (minutes) => minutes * 60_000,
    about: '429 for N minutes, for one operation',
  },
  'rate-missing': { ...passing, about: 'an answer without x-amzn-RateLimit-Limit' },
  'rate-changed': {
    ...requests,
    ...decimal(0.25, 'requests per second'),
    spellMs: () => Infinity,
    about: 'a new rate of N per second, applied and announced from the first hit on',
  },
  'invalid-input': { ...passing, about: '400 InvalidInput; the identical request then succeeds' },
  'page-limit': {
    ...requests,
    // Other operations have no parameter for the page size.
    only: Object.keys(eventOperations) as EventOperationName[],
    ...whole(50, 'results'),
    about: '400 InvalidInput if the requested page size is larger than N results',
  },
  'body-limit': {
    ...requests,
    ...whole(10_000_000, 'bytes'),
    about: '400 InvalidInput if the body would be larger than N bytes',
  },
  'window-limit': {
    ...requests,
    ...decimal(14, 'days'),
    about: '400 InvalidInput for a window of events of more than N days',
  },
  'chain-limit': { ...requests, ...whole(150, 'pages'), about: '400 InvalidInput beyond N pages of a chain' },
  'group-limit': {
    ...requests,
    ...whole(15_300, 'events'),
    about: '400 InvalidInput at the page that takes a group beyond N events',
  },
  'token-expired': {
    ...requests,
    ...decimal(25, 'minutes'),
    about: '400 "token duration is N minutes" for a younger NextToken, which stays invalid',
  },
  'access-token-expired': {
    ...passing,
    about: '403 Unauthorized, the access token has expired; with a sign-in it stays invalid',
  },
  'access-denied': { ...requests, about: '403 Unauthorized, without a reason' },
  'server-error': { ...passing, anyRequest: true, about: '500 InternalFailure' },
  unavailable: { ...passing, anyRequest: true, about: '503 ServiceUnavailable' },
  'unavailable-html': { ...passing, anyRequest: true, about: '503 with a web page instead of JSON' },
  html: { ...passing, anyRequest: true, about: '200 with a web page instead of JSON' },
  'cut-body': { ...passing, anyRequest: true, about: 'the connection closes in the middle of the body' },
  'wrong-length': { ...passing, anyRequest: true, about: 'a Content-Length shorter than the body' },
  reset: { ...passing, anyRequest: true, about: 'the connection is reset before any byte of the answer' },
  'no-answer': { ...passing, anyRequest: true, about: 'an answer that never arrives' },
  'no-body': { ...passing, anyRequest: true, about: 'headers, and a body that never arrives' },
  'empty-page': { ...passing, only: listings, about: 'a page without results that has a NextToken' },
  'token-loop': { ...passing, about: 'a page whose NextToken is the one of its request' },
  'clock-fast': { ...wholeServer, ...decimal(5, 'minutes'), about: "the service's clock is N minutes fast" },
  'clock-slow': { ...wholeServer, ...decimal(5, 'minutes'), about: "the service's clock is N minutes slow" },
  'deferred-events': {
    shareOf: 'events',
    share: 0.1,
    ...decimal(14, 'days'),
    about: 'events that appear N days after the date they carry',
  },
  'recent-incomplete': {
    shareOf: 'events',
    share: 0.5,
    ...decimal(48, 'hours'),
    about: 'events of the last N hours that appear late, each after a different delay',
  },
  'groups-missing': {
    ...requests,
    ...whole(2, 'groups'),
    about: 'a list that omits about one group in N, different ones each time',
  },
  'total-missing': {
    shareOf: 'groups',
    share: 1,
    ...decimal(24, 'hours'),
    about: 'groups without OriginalTotal for N hours after they close',
  },
  'newest-first': { ...wholeServer, about: 'every list with its newest result first, payouts with the oldest' },
  shuffled: { ...wholeServer, about: 'every list in an order without meaning, the same on each page of a chain' },
  'unknown-list': {
    shareOf: 'events',
    share: 0,
    about: 'PerformanceBondRefundEventList in every body, empty or with a SHARE of events',
  },
  'page-twice': {
    ...transactionRequests,
    share: 0.2,
    about: '2024-06-19: a page that its NextToken returns once more',
  },
  'null-token': { ...transactionRequests, about: '2024-06-19: a last page with "nextToken":null' },
  'no-list': { ...transactionRequests, about: '2024-06-19: 200 without the list of results' },
  'deep-500': {
    ...transactionRequests,
    only: ['listTransactions'],
    ...decimal(14, 'days'),
    about: '2024-06-19: 500 on each later page of more than N days',
  },
  'token-without-arguments': {
    ...transactionRequests,
    about: '2024-06-19: a nextToken valid without the parameters of the first request',
  },
  'null-lists': { ...transactions, about: '2024-06-19: lists that are null or absent where they are empty' },
  'breakdown-object': { ...transactions, about: '2024-06-19: breakdowns as an object {"breakdowns":[…]}' },
  'status-case': { ...transactions, about: '2024-06-19: a status such as Deferred or Deferred_Released' },
  'early-release': {
    ...transactions,
    share: 0.2,
    ...decimal(3, 'days'),
    about: '2024-06-19: sales released N days before their maturity date',
  },
  withdrawn: {
    ...transactions,
    share: 0.2,
    ...decimal(2, 'days'),
    about: '2024-06-19: deferred sales that disappear for good N days before they mature',
  },
  'no-transactions': { ...wholeServer, about: '2024-06-19: an account without any results' },
  'address-expired': {
    ...passing,
    only: ['Download'],
    about: 'reports: 403 for the address of a document, as after five minutes',
  },
  'reports-overlap': {
    ...reports,
    ...whole(4, 'settlements'),
    about: 'reports: documents of N settlements, all but one of which others have too',
  },
  'report-restated': {
    ...reports,
    share: 0.3,
    ...decimal(5, 'days'),
    about: 'reports: settlements that come again N days later, with other lines',
  },
  'report-missing': { ...reports, about: 'reports: no report of a settlement with a negative balance' },
  'decimal-comma': { ...reports, about: 'reports: amounts such as -1234,56' },
  'dotted-dates': { ...reports, about: 'reports: dates such as 02.03.2026 07:11:20 UTC' },
  'labels-renamed': { ...reports, about: 'reports: other labels of some fees, such as StorageRenewalBilling' },
  'shipment-as-order': { ...reports, about: 'reports: fees with a shipment to a warehouse (FBA…) as their order' },
  'marketplace-blank': { ...reports, about: 'reports: no name of a marketplace beside an order' },
  'fees-joined': { ...reports, about: 'reports: the fees of an item, and the parts of a fee, in one line' },
  'windows-1252': { ...reports, about: 'reports: text in windows-1252, of Amazon.co.jp in Shift_JIS' },
  'history-limit': { ...wholeServer, ...decimal(730, 'days'), about: 'no results older than N days' },
} as const satisfies Record<string, FaultRule>;

export type FaultKind = keyof typeof rules;

/** All kinds of faults, in the order of the help. */
export const faultRules: Readonly<Record<FaultKind, FaultRule>> = rules;

export const faultKinds = Object.keys(rules) as readonly FaultKind[];

/** Whether a fault can hit a request for an operation. */
export function canHit(kind: FaultKind, operation: FaultRequest['operation']): boolean {
  const { only, anyRequest } = faultRules[kind];
  if (only !== undefined) return only.includes(operation);
  return anyRequest === true || (operation !== 'SignIn' && operation !== 'Download');
}

function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(rules, text);
}

/** The help: one line for each kind with its default amount; `*` marks the kinds that `all` draws among. */
export function faultLines(): readonly string[] {
  const forms = faultKinds.map((kind) => {
    const { amount, passing } = faultRules[kind];
    return `${kind}${amount === undefined ? '' : `:${amount.default}`}${passing === true ? ' *' : ''}`;
  });
  const width = Math.max(...forms.map(({ length }) => length)) + 2;
  return faultKinds.map((kind, index) => `${(forms[index] ?? kind).padEnd(width)}${faultRules[kind].about}`);
}
