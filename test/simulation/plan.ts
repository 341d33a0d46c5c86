import { dayMs, hourMs } from '../../src/core/windows.js';
import type { FaultKind, Faults } from '../../src/emulator/faults/fault-settings.js';
import { randomOf, type Random } from '../lake/simulation/random.js';
import { noStoreFaults, type StoreFaults } from './world/store.js';
import type { UpstreamTraits } from './world/upstream.js';
import type { Crash } from './world/world.js';

/** What a step does. */
export type Command =
  | { readonly kind: 'backfill'; readonly fromDay: number; readonly days: number; readonly refresh: boolean }
  | { readonly kind: 'sync'; readonly lookBack: number | undefined }
  | { readonly kind: 'import'; readonly fromDay: number; readonly days: number; readonly files: number }
  | { readonly kind: 'compact' }
  | { readonly kind: 'forget'; readonly beforeDay: number | undefined }
  | { readonly kind: 'retention'; readonly hours: number }
  | { readonly kind: 'damage'; readonly what: 'publication' | 'commit' | 'data' };

/** A command, when it begins, and what goes wrong meanwhile. */
export interface Step {
  readonly number: number;
  /** Milliseconds since the step before. */
  readonly after: number;
  readonly seed: number;
  readonly account: string;
  readonly pipelines: readonly string[];
  readonly command: Command;
  readonly machine: number;
  /** Milliseconds by which the machine's clock changes before. */
  readonly clockChangeMs: number;
  readonly crash: Crash | undefined;
  readonly store: StoreFaults;
  /** Faults of the upstream while it runs. */
  readonly upstream: readonly FaultKind[];
  /** A second run that begins so many milliseconds later. */
  readonly beside:
    | (Pick<Step, 'seed' | 'account' | 'pipelines' | 'command' | 'machine' | 'crash'> & { readonly delayMs: number })
    | undefined;
}

export interface Plan {
  readonly seed: number;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly days: number;
  /** Days of history that the first backfill loads. */
  readonly history: number;
  readonly sellers: readonly UpstreamTraits[];
  readonly machines: number;
  readonly steps: readonly Step[];
}

/** Faults that hit single requests. */
const passingFaults: readonly FaultKind[] = [
  ...([
    'throttled',
    'throttled-retry-after',
    'throttled-spell',
    'rate-missing',
    'invalid-input',
    'page-limit',
  ] as const),
  ...(['body-limit', 'window-limit', 'chain-limit', 'token-expired', 'access-token-expired', 'server-error'] as const),
  ...([
    'unavailable',
    'unavailable-html',
    'html',
    'cut-body',
    'wrong-length',
    'reset',
    'no-answer',
    'no-body',
  ] as const),
  ...(['empty-page', 'token-loop', 'groups-missing', 'page-twice', 'null-token', 'deep-500'] as const),
];

/** Amounts that small sellers meet. */
const amounts: Partial<Record<FaultKind, number>> = {
  'body-limit': 60_000,
  'window-limit': 5,
  'chain-limit': 2,
  'page-limit': 50,
  'deep-500': 5,
  'throttled-spell': 2,
};

/** Instants at which a calendar has something odd: ends of months and years, leap days, and any other day. */
const starts = ['2023-12-20', '2024-02-10', '2024-11-25', '2025-01-20', '2027-02-15', '2028-01-31', '2025-06-03'];

/** What a seed plays in so many days. */
export function planOf(seed: number, days: number): Plan {
  const random = randomOf(seed);
  // Six weeks are played densely; a year is for what takes long: months, retention, checkpoints, calendars.
  const isLong = days > 100;
  const start = Date.parse(`${random.pick(starts)}T00:00:00Z`) + random.below(20) * dayMs + random.below(24) * hourMs;
  const sellers = Array.from({ length: random.chance(0.3) ? 2 : 1 }, (_, at) => sellerOf(random, at, isLong));
  const history = 3 + random.below(random.chance(0.2) ? 40 : 12);
  const machines = 1 + random.below(2);
  const steps: Step[] = [];
  let passed = 0;
  const isCalm = random.chance(0.15);
  while (passed < days * dayMs) {
    const known = { sellers, history, machines, isCalm, passed, isLong };
    const step = stepOf(random, { number: steps.length, ...known });
    passed += step.after;
    steps.push(step);
  }
  return { seed, start, days, history, sellers, machines, steps };
}

function sellerOf(random: Random, at: number, isLong: boolean): UpstreamTraits {
  const busiest = isLong ? 10 : 30;
  const isOdd = random.chance(0.4);
  const isBusy = random.chance(0.25);
  const faults: Record<string, object> = {};
  if (random.chance(0.25)) faults[random.chance(0.5) ? 'newest-first' : 'shuffled'] = {};
  if (random.chance(0.15)) faults['unknown-list'] = { share: 0.05 };
  if (random.chance(0.15)) faults['total-missing'] = {};
  if (random.chance(0.15)) faults['recent-incomplete'] = {};
  if (random.chance(0.1)) faults[random.chance(0.5) ? 'clock-fast' : 'clock-slow'] = { amount: 1 + random.below(4) };
  const share = 0.02 + random.next() * 0.2;
  const passing: Faults = Object.fromEntries(
    passingFaults.map((kind) => [kind, { share, ...(amounts[kind] !== undefined && { amount: amounts[kind] }) }]),
  );
  const least = random.below(300);
  return {
    account: ['shop', 'other'][at] ?? `shop-${at}`,
    seed: random.below(1_000_000),
    perDay: isBusy ? busiest / 2 + random.below(busiest) : 1 + random.below(8),
    // What the first sync loads is there at the end, too.
    historyDays: isLong ? 650 : 500,
    profile: isOdd ? 'edge-cases' : 'plausible',
    oneIn: random.chance(0.7) ? 20 + random.below(200) : 0,
    mostDays: 1 + random.below(12),
    latencyMs: { least, most: least + random.below(random.chance(0.2) ? 5000 : 400) },
    faults,
    passing,
    tokenLifeMs: random.chance(0.3) ? 180_000 + random.below(1_200_000) : undefined,
  };
}

interface StepContext {
  readonly number: number;
  readonly sellers: readonly UpstreamTraits[];
  readonly history: number;
  readonly machines: number;
  readonly isLong: boolean;
  /** No faults at all. */
  readonly isCalm: boolean;
  /** Since the start. */
  readonly passed: number;
}

/** Those with a load key for each window are chosen most often: their rows are compared with each answer. */
const sets: readonly (readonly string[])[] = [
  ...Array.from({ length: 12 }, () => ['financial-events']),
  ['financial-events', 'group-events'],
  [],
  ['transactions'],
];

/** Of a year: all that the program loads, with its dependences. */
const longSets: readonly (readonly string[])[] = [
  ['financial-events'],
  ['financial-events', 'transactions'],
  ['financial-events', 'group-events'],
  ['transactions'],
  [],
];

function stepOf(random: Random, context: StepContext): Step {
  const { number, sellers, machines, isCalm, isLong } = context;
  const mostNights = isLong ? 80 : 9;
  const { account } = random.pick(sellers);
  const isFaulty = !isCalm && random.chance(0.5);
  const pick = (chance: number) => isFaulty && random.chance(chance);
  const upstream = pick(0.6) ? Array.from({ length: 1 + random.below(7) }, () => random.pick(passingFaults)) : [];
  const level = 0.002 * 10 ** (random.next() * 1.3);
  const store = pick(0.4) ? { before: level, after: level / 2, late: level / 3 } : noStoreFaults;
  const crash = (): Crash | undefined =>
    pick(0.4) ? { call: 1 + Math.floor(300 * random.next() ** 2), isAfter: random.chance(0.5) } : undefined;
  const again = random.chance(0.2) ? 1000 + random.below(random.chance(0.5) ? 12_000 : 600_000) : undefined;
  const nights = random.chance(0.25) ? 1 : 1 + random.below(mostNights);
  const command = number === 0 ? first(context) : commandOf(random, context);
  const beside = !isCalm && random.chance(0.08) ? besideOf(random, context, crash()) : undefined;
  return {
    number,
    after: number === 0 ? 0 : (again ?? nights * dayMs - 2 * hourMs + random.below(4 * hourMs)),
    seed: random.below(1_000_000_000),
    account: number < sellers.length ? (sellers[number]?.account ?? account) : account,
    pipelines: random.pick(isLong ? longSets : sets),
    command: number < sellers.length ? first(context) : command,
    machine: random.chance(0.85) ? 0 : random.below(machines),
    clockChangeMs: pick(0.1) ? Math.floor((random.next() - 0.5) * 600_000) : 0,
    crash: crash(),
    store,
    upstream,
    beside,
  };
}

function first({ history }: StepContext): Command {
  return { kind: 'backfill', fromDay: -history, days: history + 1, refresh: false };
}

function besideOf(random: Random, context: StepContext, crash: Crash | undefined): NonNullable<Step['beside']> {
  return {
    delayMs: random.below(20_000),
    seed: random.below(1_000_000_000),
    account: random.pick(context.sellers).account,
    pipelines: random.pick(context.isLong ? longSets : sets),
    command: commandOf(random, context),
    machine: random.below(context.machines),
    crash,
  };
}

function commandOf(random: Random, { history, passed }: StepContext): Command {
  const lot = random.below(100);
  const today = Math.floor(passed / dayMs);
  const range = () => {
    const fromDay = -history + random.below(history + today);
    return { fromDay, days: 1 + random.below(10) };
  };
  if (lot < 62) return { kind: 'sync', lookBack: random.chance(0.5) ? undefined : random.below(6) };
  if (lot < 72) return { kind: 'backfill', ...range(), refresh: false };
  if (lot < 80) return { kind: 'backfill', ...range(), refresh: true };
  if (lot < 88) return { kind: 'compact' };
  if (lot < 91) return { kind: 'import', ...range(), files: 1 + random.below(2) };
  if (lot < 94) return { kind: 'retention', hours: random.below(3) * 24 };
  if (lot < 95) return { kind: 'damage', what: random.pick(['publication', 'commit', 'data'] as const) };
  if (lot < 98) return { kind: 'sync', lookBack: undefined };
  return { kind: 'forget', beforeDay: random.chance(0.2) ? undefined : -history + random.below(history + today) };
}

/** A plan with each kind of command, by which all modules of the program are loaded. */
export function warmUp(): Plan {
  const { steps, sellers, ...plan } = planOf(1, 8);
  const [step] = steps;
  const [seller] = sellers;
  if (step === undefined || seller === undefined) throw new Error('the plan has no step');
  const calm = {
    ...step,
    machine: 0,
    crash: undefined,
    beside: undefined,
    store: noStoreFaults,
    upstream: [],
    clockChangeMs: 0,
  };
  const commands: readonly Command[] = [
    { kind: 'backfill', fromDay: -2, days: 4, refresh: false },
    { kind: 'sync', lookBack: 2 },
    { kind: 'import', fromDay: -6, days: 3, files: 1 },
    { kind: 'backfill', fromDay: -6, days: 5, refresh: true },
    { kind: 'compact' },
    { kind: 'damage', what: 'data' },
    { kind: 'forget', beforeDay: -3 },
  ];
  return {
    ...plan,
    sellers: [{ ...seller, account: step.account, perDay: 5, oneIn: 3, mostDays: 1 }],
    steps: commands.map((command, number) => ({
      ...calm,
      number,
      after: number === 0 ? 0 : 86_400_000,
      pipelines: [],
      command,
    })),
  };
}
