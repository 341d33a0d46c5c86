import { newcomer, type Standing, type TurnEnd, type JobKind } from '../../src/app/fleet/turns.js';
import type { Account } from './account.js';
import { drained, keptOf, operations, type Backlogs, type Operation } from './backlog.js';
import { answeredBy, fullAfter, lengthOf, readingOf, sentBy, type Reading } from './reading.js';
import type { Costs } from './scenario.js';
import type { QueuedJob } from './queue-model.js';

/** The one job of an account that has something to do. */
export interface AccountJob extends QueuedJob {
  readonly account: Account;
  standing: Standing;
  /** Since when it waits, or waited for the turn that it has: milliseconds since 1970. */
  askedAt: number;
  /** Whether a sync was asked for that hasn't begun. */
  isSyncAsked: boolean;
  /** Whether its last turn ended with its worker, and brought nothing. */
  wasCutOff: boolean;
}

export function jobOf(account: Account): AccountJob {
  return { id: account.id, account, priority: 0, standing: newcomer, askedAt: 0, isSyncAsked: false, wasCutOff: false };
}

/** What a turn does where nothing cuts it short, on a clock of its own that stands still while the worker has no time for it. */
export interface Plan {
  readonly work: JobKind;
  readonly backlogs: Backlogs;
  readonly readings: Readonly<Record<Operation, Reading>>;
  readonly start: number;
  readonly end: number;
  /** Why it ends then. */
  readonly why: TurnEnd;
  /** Processor seconds each second. */
  readonly load: number;
}

/** What became of one operation in a turn. */
export interface Read {
  readonly operation: Operation;
  readonly reading: Reading;
  readonly sent: number;
  readonly answered: number;
  /** Of the backlog: what need not be asked for again. */
  readonly kept: number;
}

/** Plans a turn that begins now. */
export function planOf(
  { buckets }: Account,
  work: JobKind,
  backlogs: Backlogs,
  start: number,
  latencyMs: number,
  { opening, closing, cpuTurn, cpuSlice, cpuRequest, cpuEvent }: Costs,
  fault: { readonly why: TurnEnd; readonly share: number } | undefined,
): Plan {
  const first = start + opening * 1000;
  const read = (operation: Operation, from: number): Reading => {
    const { requests, perSlice } = backlogs[operation];
    return readingOf(from, requests, Math.ceil(requests / perSlice), latencyMs, buckets[operation]);
  };
  const listing = read('listing', first);
  const events = read('events', first);
  const groups = read('groups', first + lengthOf(listing));
  const readings = { listing, events, groups };
  const share = fault?.share ?? 1;
  let length = share * (Math.max(lengthOf(events), lengthOf(listing) + lengthOf(groups)) + (opening + closing) * 1000);
  let cpu = cpuTurn;
  for (const operation of operations) {
    const { requests, perSlice, perPage } = backlogs[operation];
    cpu += share * requests * (cpuSlice / perSlice + cpuRequest + perPage * cpuEvent);
  }
  // One turn has one thread.
  length = Math.max(length, cpu * 1000);
  const load = (cpu * 1000) / length;
  return { work, backlogs, readings, start, end: start + length, why: fault?.why ?? 'done', load };
}

/** The plan of a turn that is told, at an instant of its own clock, to finish what is open and begin nothing new. */
export function drainedFrom(plan: Plan, instant: number, { closing }: Costs): Plan {
  let end = instant;
  const cut = (operation: Operation): Reading => {
    const reading = plan.readings[operation];
    const sent = sentBy(reading, instant);
    const requests = Math.min(reading.requests, drained(sent, reading.chains, plan.backlogs[operation].perSlice));
    const shorter = { ...reading, requests };
    if (requests > 0) end = Math.max(end, reading.start + lengthOf(shorter));
    return shorter;
  };
  const readings = { listing: cut('listing'), events: cut('events'), groups: cut('groups') };
  const isWhole = operations.every((operation) => readings[operation].requests === plan.backlogs[operation].requests);
  end += closing * 1000;
  // A fault that comes before what is open has ended ends the turn all the same.
  const isCutShort = plan.why !== 'done' && plan.end < end;
  return { ...plan, readings, end: Math.min(plan.end, end), why: isWhole || isCutShort ? plan.why : 'over' };
}

/**
 * Takes what was read up to an instant of the turn's clock out of the backlogs, and the tokens out of the buckets.
 *
 * @param lateMs how far the turn's clock is behind by now: buckets are taken to be as much later as it is
 * @param isOrderly whether what is open is kept: in the lake, or in a journal that the next turn finds
 */
export function settle(account: Account, plan: Plan, instant: number, lateMs: number, isOrderly: boolean): Read[] {
  return operations.map((operation): Read => {
    const reading = plan.readings[operation];
    const backlog = plan.backlogs[operation];
    const sent = sentBy(reading, instant);
    const answered = answeredBy(reading, instant);
    const kept = isOrderly ? answered : keptOf(answered, reading.chains, backlog.perSlice);
    const bucket = account.buckets[operation];
    if (sent > 0) bucket.fullAt = fullAfter(bucket, reading, sent) + lateMs;
    backlog.requests -= kept;
    return { operation, reading, sent, answered, kept };
  });
}
