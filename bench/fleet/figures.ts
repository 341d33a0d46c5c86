import { dayMs } from '../../src/core/windows.js';
import type { Account } from './account.js';
import type { Operation } from './backlog.js';
import type { EndedTurn, Told } from './told.js';

/** What is counted while a fleet is simulated. */
export class Figures implements Told {
  turns = 0;
  died = 0;
  over = 0;
  readonly deaths: { readonly account: Account; readonly at: number }[] = [];
  sent = 0;
  kept = 0;
  events = 0;
  /** Slices that were committed in all, each a commit in the logs of its tables. */
  readonly slices: Record<Operation, number> = { listing: 0, events: 0, groups: 0 };
  /** Of each minute: slices that were committed, and requests; turns are taken to be even. */
  readonly slicesAMinute: Float64Array;
  readonly requestsAMinute: Float64Array;
  readonly turnsAMinute: Float64Array;
  /** Jobs that waited, and turns under way, of each minute. */
  readonly waiting: Int32Array;
  readonly busy: Int32Array;
  /** When each first backfill was done, since the account had joined. */
  readonly backfilled = new Map<Account, number>();
  readonly syncs: { readonly askedAt: number; readonly at: number; readonly account: Account }[] = [];
  readonly #start: number;

  constructor(start: number, days: number) {
    this.#start = start;
    const minutes = days * 1440 + 1;
    this.slicesAMinute = new Float64Array(minutes);
    this.requestsAMinute = new Float64Array(minutes);
    this.turnsAMinute = new Float64Array(minutes);
    this.waiting = new Int32Array(minutes);
    this.busy = new Int32Array(minutes);
  }

  turnEnded({ takenAt, at, end, backlogs, reads }: EndedTurn): void {
    this.turns++;
    if (end === 'died') this.died++;
    if (end === 'over') this.over++;
    let sent = 0;
    let slices = 0;
    for (const read of reads) {
      sent += read.sent;
      this.kept += read.kept;
      const { perSlice, perPage } = backlogs[read.operation];
      slices += read.kept / perSlice;
      this.slices[read.operation] += read.kept / perSlice;
      this.events += read.kept * perPage;
    }
    this.sent += sent;
    this.#spread(this.requestsAMinute, takenAt, at, sent);
    this.#spread(this.slicesAMinute, takenAt, at, slices);
    this.#spread(this.turnsAMinute, at, at, 1);
  }

  backfillDone(account: Account, at: number): void {
    this.backfilled.set(account, at - account.joinsAt);
  }

  syncDone(account: Account, askedAt: number, at: number): void {
    this.syncs.push({ account, askedAt, at });
  }

  dead(account: Account, at: number): void {
    this.deaths.push({ account, at });
  }

  state({ at, waiting, busy }: { readonly at: number; readonly waiting: number; readonly busy: number }): void {
    const minute = this.#minute(at);
    this.waiting[minute] = waiting;
    this.busy[minute] = busy;
  }

  /** The syncs asked for from a day on that weren't done by an hour of their own day. */
  late(hour: number, fromDay: number, notDone: readonly number[]): { readonly late: number; readonly of: number } {
    const from = this.#start + fromDay * dayMs;
    const asked = this.syncs.filter(({ askedAt }) => askedAt >= from);
    const missed = notDone.filter((askedAt) => askedAt >= from).length;
    const late = asked.filter(({ askedAt, at }) => at > askedAt - (askedAt % dayMs) + hour * 3_600_000).length;
    return { late: late + missed, of: asked.length + missed };
  }

  #minute(at: number): number {
    return Math.floor((at - this.#start) / 60_000);
  }

  #spread(minutes: Float64Array, from: number, to: number, amount: number): void {
    const first = this.#minute(from);
    const last = Math.min(this.#minute(to), minutes.length - 1);
    for (let minute = first; minute <= last; minute++)
      minutes[minute] = (minutes[minute] ?? 0) + amount / (last - first + 1);
  }
}
