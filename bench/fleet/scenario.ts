import type { Night } from '../../src/app/fleet/nightly.js';

/** What is simulated. Durations in seconds unless the name says otherwise. */
export interface Scenario {
  readonly seed: number;
  /** Milliseconds since 1970; a midnight, UTC. */
  readonly start: number;
  readonly accounts: number;
  readonly days: number;
  readonly workers: number;
  /** Turns that a worker has under way at once, each of another account. */
  readonly places: number;
  /**
   * Milliseconds of a turn while others wait; undefined: first come, first served, each to the end of its work, and every sync at the same
   * instant of the night.
   */
  readonly turnMs: number | undefined;
  /** When syncs begin: without `turnMs` all of them at its start. */
  readonly night: Night;
  readonly population: Population;
  readonly server: Service;
  readonly costs: Costs;
  readonly troubles: Troubles;
}

export interface Population {
  /** Events a month are log-normal: half of the accounts have fewer than this; `spread` is the deviation of the logarithm. */
  readonly medianEvents: number;
  readonly spread: number;
  readonly mostEvents: number;
  /** Days of each account's first backfill. */
  readonly historyDays: number;
  /** The share of accounts that join later, at any instant of the days. */
  readonly latecomers: number;
  /** The share of accounts that the service refuses from the first request on. */
  readonly denied: number;
}

export interface Service {
  /** Of each operation and account: tokens a second, and at once. */
  readonly rate: number;
  readonly burst: number;
  /** A request's, and by how much it differs from turn to turn: log-normal. */
  readonly latency: number;
  readonly latencySpread: number;
}

/** What turns cost besides their requests. */
export interface Costs {
  /** Before the first request of a turn: an access token, the log of the lake; and behind the last: the commit, the sweep. */
  readonly opening: number;
  readonly closing: number;
  /** Processor seconds of a turn, of a slice, of a request, and of an event. */
  readonly cpuTurn: number;
  readonly cpuSlice: number;
  readonly cpuRequest: number;
  readonly cpuEvent: number;
}

export interface Troubles {
  /** Days between two deaths of one worker, on average; 0: none dies. What was open then is read again. */
  readonly daysBetweenDeaths: number;
  /** Until a worker that died is there again. */
  readonly restart: number;
  /** How long the lock of a job lives without being renewed, and between two looks for those whose lock has gone. */
  readonly lockMs: number;
  readonly checkMs: number;
  /** The share of turns that a transient fault ends, at any point of them. */
  readonly faults: number;
  /** Whether the journal of a turn is there for the account's next one, on whatever worker. */
  readonly keepsJournal: boolean;
  /** When Redis is away, from the beginning on, and for how long. */
  readonly outages: readonly { readonly at: number; readonly lasts: number }[];
}
