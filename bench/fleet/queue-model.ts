import { Heap } from './heap.js';

/** A job as the queue sees it. */
export interface QueuedJob {
  readonly id: number;
  /** 1 goes before 2; 0 goes before all of them. */
  priority: number;
}

interface Prioritized<J> {
  readonly job: J;
  readonly priority: number;
  readonly order: number;
  /** Another place was given to it. */
  isGone: boolean;
}

interface Delayed<J> {
  readonly job: J;
  readonly at: number;
  readonly order: number;
}

/**
 * The order in which BullMQ 6 gives jobs out, as its Lua scripts have it (`moveToActive`, `moveStalledJobsToWait`,
 * `addPrioritizedJob`): the list `wait` first, whatever its jobs' priorities, then `prioritized` by priority and, within
 * one, in the order of coming. A delayed job joins behind those that came before it was due. A stalled one goes to the
 * head of `wait`, before everything else.
 */
export class QueueModel<J extends QueuedJob> {
  readonly #wait: J[] = [];
  readonly #prioritized = new Heap<Prioritized<J>>(
    (a, b) => a.priority < b.priority || (a.priority === b.priority && a.order < b.order),
  );
  readonly #delayed = new Heap<Delayed<J>>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #active = new Set<J>();
  /** Where the jobs of `prioritized` are in it. */
  readonly #places = new Map<J, Prioritized<J>>();
  #order = 0;
  /** Calls of scripts so far, each one step of a single-threaded Redis. */
  calls = 0;

  /** Jobs that could run now, and such that are to wait until an instant. */
  get waiting(): number {
    return this.#wait.length + this.#places.size;
  }

  get delayed(): number {
    return this.#delayed.size;
  }

  get active(): number {
    return this.#active.size;
  }

  /** When the next delayed job is due: milliseconds since 1970. */
  get nextDelayed(): number | undefined {
    return this.#delayed.first?.at;
  }

  /** The lowest priority of those that wait. */
  get firstPriority(): number | undefined {
    return this.#wait.length > 0 ? 0 : this.#first()?.priority;
  }

  /** Adds a job, or puts an active one back, to be taken from an instant on (milliseconds since 1970). */
  add(job: J, from: number, now: number): void {
    this.calls++;
    this.#active.delete(job);
    if (from > now) this.#delayed.push({ job, at: from, order: this.#order++ });
    else this.#queue(job);
  }

  /** The job that goes next, active from now on. */
  take(now: number): J | undefined {
    this.calls++;
    for (let due = this.#delayed.first; due !== undefined && due.at <= now; due = this.#delayed.first) {
      this.#delayed.pop();
      this.#queue(due.job);
    }
    const job = this.#wait.pop() ?? this.#first()?.job;
    if (job === undefined) return undefined;
    this.#leavePlace(job);
    this.#active.add(job);
    return job;
  }

  /** Gives a job that waits another priority, behind those that have it already. */
  changePriority(job: J, priority: number): void {
    this.calls++;
    job.priority = priority;
    if (this.#leavePlace(job)) this.#queue(job);
  }

  /** Takes a job that has come to its end out. */
  finish(job: J): void {
    this.calls++;
    this.#active.delete(job);
  }

  /** Puts an active job, whose worker's lock has gone, before all others. */
  stall(job: J): void {
    this.#active.delete(job);
    this.#wait.push(job);
  }

  #queue(job: J): void {
    if (job.priority === 0) this.#wait.unshift(job);
    else {
      const place = { job, priority: job.priority, order: this.#order++, isGone: false };
      this.#places.set(job, place);
      this.#prioritized.push(place);
    }
  }

  #first(): Prioritized<J> | undefined {
    while (this.#prioritized.first?.isGone === true) this.#prioritized.pop();
    return this.#prioritized.first;
  }

  #leavePlace(job: J): boolean {
    const place = this.#places.get(job);
    if (place !== undefined) place.isGone = true;
    return this.#places.delete(job);
  }
}
