/** One way in which the live service is known to fall short of its specification. */
export interface FaultRule {
  /** What a client sees, in one line for the help; `N` stands for the amount. */
  readonly about: string;
  /** What a share is a share of; `none`: it holds for the whole service, and there is nothing to choose. */
  readonly shareOf: 'requests' | 'events' | 'groups' | 'none';
  /** The share where none is given. */
  readonly share: number;
  readonly amount?: FaultAmount;
  /** How long it lasts from its first hit on, milliseconds, by its amount; left out: one request. */
  readonly spellMs?: (amount: number) => number;
  /** Whether it hits one request alone and the same request succeeds when it is sent again: `all` draws among these. */
  readonly passing?: true;
  /** Whether it can hit the sign-in too. */
  readonly signIn?: true;
}

export interface FaultAmount {
  readonly unit: string;
  /** Where none is given. */
  readonly usual: number;
  /** Whole numbers from 1 on; else any number above 0. */
  readonly whole: boolean;
}

const whole = (usual: number, unit: string): FaultAmount => ({ usual, unit, whole: true });
const some = (usual: number, unit: string): FaultAmount => ({ usual, unit, whole: false });

/** Hits one request in place of its answer or on its way; the next try succeeds. */
const passing = { shareOf: 'requests', share: 1, passing: true } as const;
const requests = { shareOf: 'requests', share: 1 } as const;
const service = { shareOf: 'none', share: 1 } as const;

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
    about: '429 for N minutes on end, for one operation',
  },
  'rate-missing': { ...passing, about: 'no x-amzn-RateLimit-Limit on the answer' },
  'rate-changed': {
    ...requests,
    amount: some(0.25, 'requests a second'),
    spellMs: () => Infinity,
    about: 'another rate of N a second, counted and announced, from the first hit on',
  },
  'invalid-input': { ...passing, about: '400 InvalidInput; the identical request then succeeds' },
  'page-limit': {
    ...requests,
    amount: whole(50, 'results'),
    about: '400 InvalidInput where the page asked for is larger than N results',
  },
  'body-limit': {
    ...requests,
    amount: whole(10_000_000, 'bytes'),
    about: '400 InvalidInput where the body would be larger than N bytes',
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
    about: '400 "token duration is N minutes" for a younger NextToken, which stays dead',
  },
  'access-token-expired': {
    ...passing,
    about: '403 Unauthorized, the access token has expired; with sign-in it stays dead',
  },
  'access-denied': { ...requests, about: '403 Unauthorized, without a reason' },
  'server-error': { ...passing, signIn: true, about: '500 InternalFailure' },
  unavailable: { ...passing, signIn: true, about: '503 ServiceUnavailable' },
  'unavailable-html': { ...passing, signIn: true, about: '503 with a web page in place of JSON' },
  html: { ...passing, signIn: true, about: '200 with a web page in place of JSON' },
  'cut-body': { ...passing, signIn: true, about: 'the connection closes in the middle of the body' },
  'wrong-length': { ...passing, signIn: true, about: 'Content-Length says less than the body has' },
  reset: { ...passing, signIn: true, about: 'the connection is reset before any byte of the answer' },
  'no-answer': { ...passing, signIn: true, about: 'an answer that never comes' },
  'no-body': { ...passing, signIn: true, about: 'headers that come, and a body that never does' },
  'empty-page': { ...passing, about: 'a page without results that has a NextToken' },
  'token-loop': { ...passing, about: 'a page whose NextToken is the one that asked for it' },
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
    about: 'events of the last N hours that appear late, each at an hour of its own',
  },
  'groups-missing': {
    ...requests,
    amount: whole(2, 'groups'),
    about: 'a listing that leaves out about one group in N, other ones each time',
  },
  'total-missing': {
    shareOf: 'groups',
    share: 1,
    amount: some(24, 'hours'),
    about: 'groups without OriginalTotal for N hours after they closed',
  },
  'unknown-list': {
    shareOf: 'events',
    share: 0,
    about: 'PerformanceBondRefundEventList in every body, empty or with a SHARE of events',
  },
  'history-limit': { ...service, amount: some(730, 'days'), about: 'nothing that is older than N days' },
} as const satisfies Record<string, FaultRule>;

export type FaultKind = keyof typeof table;

/** Every kind of fault, in the order of the help. */
export const faultRules: Readonly<Record<FaultKind, FaultRule>> = table;

export const faultKinds = Object.keys(table) as readonly FaultKind[];

export function isFaultKind(text: string): text is FaultKind {
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
