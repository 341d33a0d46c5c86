import type { AccountJob, Plan } from './turn.js';
import type { Timeline } from './timeline.js';

/** A turn under way. */
export interface Run {
  readonly job: AccountJob;
  readonly takenAt: number;
  plan: Plan;
  /** How far the turn's own clock has come. */
  clock: number;
  /** Told to finish what is open. */
  isDraining: boolean;
  /** Grows whenever the instant at which it ends is another one. */
  version: number;
}

/** A worker: one processor that its turns share evenly where they want more of it than there is. */
export class WorkerModel {
  readonly id: number;
  readonly #timeline: Timeline;
  readonly #ended: (run: Run) => void;
  readonly runs = new Set<Run>();
  isAlive = true;
  /** Processor milliseconds used. */
  cpuMs = 0;
  #at: number;
  #load = 0;

  /** `ended`: told when a turn's clock has come to the end of its plan. */
  constructor(id: number, timeline: Timeline, ended: (run: Run) => void) {
    this.id = id;
    this.#timeline = timeline;
    this.#ended = ended;
    this.#at = timeline.now();
  }

  begin(job: AccountJob, plan: Plan): Run {
    const now = this.#timeline.now();
    const run = { job, takenAt: now, plan, clock: now, isDraining: false, version: 0 };
    this.#change(() => this.runs.add(run), run);
    return run;
  }

  /** Another plan for a turn under way. */
  replan(run: Run, plan: Plan): void {
    this.#change(() => (run.plan = plan), run);
  }

  /** Takes a turn out. */
  end(run: Run): void {
    this.#change(() => this.runs.delete(run), undefined);
  }

  /** Brings the turns' clocks up to now. */
  catchUp(): void {
    const now = this.#timeline.now();
    const speed = this.#speed();
    for (const run of this.runs) run.clock = Math.min(run.plan.end, run.clock + (now - this.#at) * speed);
    this.cpuMs += (now - this.#at) * this.#load * speed;
    this.#at = now;
  }

  #speed(): number {
    return Math.min(1, 1 / this.#load);
  }

  #change(make: () => void, changed: Run | undefined): void {
    this.catchUp();
    const before = this.#speed();
    make();
    this.#load = 0;
    for (const { plan } of this.runs) this.#load += plan.load;
    const isSame = this.#speed() === before;
    for (const run of this.runs) if (!isSame || run === changed) this.#await(run);
  }

  #await(run: Run): void {
    const version = ++run.version;
    this.#timeline.at(this.#at + (run.plan.end - run.clock) / this.#speed(), () => {
      if (run.version !== version || !this.runs.has(run)) return;
      this.catchUp();
      run.clock = run.plan.end;
      this.#ended(run);
    });
  }
}
