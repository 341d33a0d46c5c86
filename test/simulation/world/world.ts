import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Clock } from '../../../src/core/clock.js';
import { randomOf, type Random } from '../../lake/simulation/random.js';

/** A machine: its local files, and a clock that may be off. */
export interface Machine {
  readonly name: string;
  /** Its local files. */
  readonly folder: string;
  /** Milliseconds that its clock is ahead. */
  offsetMs: number;
}

/** Where a process dies: at a call of store, transport, clock or local files. */
export interface Crash {
  /** The number of the call, from 1. */
  readonly call: number;
  /** Whether the call still takes effect. */
  readonly isAfter: boolean;
}

interface ProcessFacts extends Pick<Process, 'machine' | 'pid' | 'label' | 'command' | 'startedAt'> {
  readonly crash: Crash | undefined;
}

/** A program that runs in the simulation. One that is dead gets no answers, and nothing of it happens any more. */
export class Process {
  readonly machine: Machine;
  readonly pid: number;
  readonly label: string;
  /** Such as `sync`. */
  readonly command: string;
  readonly startedAt: number;
  /** Resolves once it is dead. */
  readonly death: Promise<void>;
  isDead = false;
  isOver = false;
  calls = 0;
  /** What is closed when it dies: databases, whose memory is outside of the heap. */
  readonly open = new Set<() => void>();
  readonly #crash: Crash | undefined;
  #die: () => void = () => undefined;

  constructor({ crash, ...facts }: ProcessFacts) {
    this.machine = facts.machine;
    this.pid = facts.pid;
    this.label = facts.label;
    this.command = facts.command;
    this.startedAt = facts.startedAt;
    this.#crash = crash;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  /** Counts a call. Returns what becomes of it: it happens, it is never made, or it happens and the process dies of it. */
  call(): 'alive' | 'dead' | 'last' {
    if (this.isDead) return 'dead';
    this.calls++;
    if (this.calls !== this.#crash?.call) return 'alive';
    this.kill();
    return this.#crash.isAfter ? 'last' : 'dead';
  }

  kill(): void {
    if (this.isDead || this.isOver) return;
    this.isDead = true;
    for (const close of this.open) close();
    this.open.clear();
    this.#die();
  }
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A call to something real (DuckDB), which is made once nothing else goes on. */
interface OutsideCall {
  readonly process: Process | undefined;
  readonly run: () => Promise<void>;
}

/** Turns of the event loop after which nothing goes on but waiting. The number is fixed, so that a seed determines the order of all that happens. */
const quietTurns = 3;

export interface WorldOptions {
  /** Whether `lines` has the trace: large. */
  readonly keepsTrace?: boolean;
  /** Whether real time is waited for: modules are loaded that later plays use. */
  readonly isPatient?: boolean;
}

/**
 * Time, chance and processes of one simulation. Nothing happens at the same time: what waits is let go on one after the other, in
 * the order of its instants, each once nothing else goes on.
 */
export class World {
  readonly random: Random;
  readonly #trace = createHash('sha256');
  readonly #lines: string[] | undefined;
  readonly #isPatient: boolean;
  readonly #folder: string;
  #now: number;
  #order = 0;
  #idle = 0;
  #timers: Timer[] = [];
  #outside: OutsideCall[] = [];
  #pid = 100;
  /** What has been found wrong first. */
  failure: Error | undefined;
  /** What an observer has to do before anything else happens: checks that read files. */
  readonly #checks: (() => Promise<void>)[] = [];

  /** @param folder where its files lie: another one for each play */
  constructor(seed: number, now: number, folder: string, { keepsTrace = false, isPatient = false }: WorldOptions = {}) {
    this.#isPatient = isPatient;
    this.#folder = folder;
    this.random = randomOf(seed);
    this.#now = now;
    this.#lines = keepsTrace ? [] : undefined;
  }

  /** Milliseconds since 1970, as the upstream and the store have it. */
  now(): number {
    return this.#now;
  }

  get lines(): readonly string[] {
    return this.#lines ?? [];
  }

  /** Adds to the trace: two runs of a seed have the same one. */
  note(line: string): void {
    const text = line.replaceAll(this.#folder, '');
    this.#trace.update(`${this.#now} ${text}\n`);
    this.#lines?.push(`${new Date(this.#now).toISOString()} ${text}`);
  }

  /** The hash of all that has happened. */
  traceHash(): string {
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error(String(error));
  }

  newPid(): number {
    return ++this.#pid;
  }

  /** Runs something at an instant. */
  at(instant: number, fire: () => void): void {
    const timer = { at: Math.max(instant, this.#now), order: this.#order++, fire };
    let [low, high] = [0, this.#timers.length];
    // Sorted with the next one last.
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#timers[middle];
      if (other !== undefined && (other.at > timer.at || (other.at === timer.at && other.order > timer.order)))
        low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }

  /** Does something real, such as a query, while nothing else goes on. */
  outside<T>(work: () => Promise<T>): Promise<T> {
    const process = currentProcess();
    return new Promise((resolve, reject) => {
      const run = () => work().then(resolve, reject);
      this.#outside.push({ process, run });
    });
  }

  /** Has a check done before anything else happens. */
  check(work: () => Promise<void>): void {
    this.#checks.push(work);
  }

  /** Lets a certain time pass. */
  async pass(ms: number): Promise<void> {
    let isOver = false;
    this.at(this.#now + ms, () => {
      isOver = true;
    });
    await this.#until(() => isOver);
  }

  /** Lets things happen until the work is done. Rejects with what it throws. */
  async play<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    work.then(over, over);
    await this.#until(() => isOver);
    return work;
  }

  async #until(isOver: () => boolean): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < quietTurns; turn++) await new Promise(setImmediate);
      if (this.#isPatient) await new Promise((resolve) => setTimeout(resolve, 2));
      const check = this.#checks.shift();
      const call = this.#outside[0];
      if (check !== undefined) {
        await check().catch((error: unknown) => {
          this.fail(error);
        });
      } else if (this.failure !== undefined) throw this.failure;
      else if (isOver()) return;
      else if (call !== undefined) {
        this.#outside.shift();
        if (call.process?.isDead !== true) await call.run();
      } else {
        const timer = this.#timers.pop();
        if (timer === undefined && this.#isPatient && this.#idle++ < 500) continue;
        if (timer === undefined)
          throw new Error(
            `everything waits, and nothing will happen any more (${process.getActiveResourcesInfo().join()})`,
          );
        this.#now = timer.at;
        timer.fire();
      }
    }
  }
}

/** The process that the code that runs is of. */
const processes = new AsyncLocalStorage<Process>();

export function currentProcess(): Process | undefined {
  return processes.getStore();
}

export function runIn<T>(process: Process | undefined, work: () => T): T {
  return process === undefined ? processes.exit(work) : processes.run(process, work);
}

let played: World | undefined;

/** The world that is played now; what replaces modules of the program belongs to it. */
export function currentWorld(): World {
  if (played === undefined) throw new Error('nothing is played');
  return played;
}

export function setWorld(world: World | undefined): void {
  played = world;
}

/** The clock of a machine, as a process reads it. */
export function clockOf(world: World, process: Process): Clock {
  return {
    now: () => Math.floor(world.now() + process.machine.offsetMs),
    sleep: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        const end = process.call();
        if (end !== 'alive') return;
        if (signal?.aborted === true) {
          reject(signal.reason as Error);
          return;
        }
        const stop = (): void => {
          reject(signal?.reason as Error);
        };
        signal?.addEventListener('abort', stop, { once: true });
        world.at(world.now() + Math.ceil(ms), () => {
          signal?.removeEventListener('abort', stop);
          if (!process.isDead) resolve();
        });
      }),
  };
}

/** The clock of the upstream, which is right. */
export function serviceClock(world: World): Clock {
  return {
    now: () => world.now(),
    sleep: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
        world.at(world.now() + Math.ceil(ms), resolve);
      }),
  };
}
