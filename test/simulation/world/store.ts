import type { Store } from '../../../src/lake/store/store.js';
import { randomOf, type Random } from '../../lake/simulation/random.js';
import { Violation } from '../../lake/simulation/violation.js';
import { failureOf, MemoryFiles, type CallName, type Observer } from '../../lake/simulation/memory-files.js';
import { runIn, type Process, type World } from './world.js';

/** How often calls of a store fail, each a probability. */
export interface StoreFaults {
  /** The call fails, and has no effect. */
  readonly before: number;
  /** The call fails, and has had its effect. */
  readonly after: number;
  /** The call fails, and takes effect minutes or hours later. */
  readonly late: number;
}

export const noStoreFaults: StoreFaults = { before: 0, after: 0, late: 0 };

/** The longest that a call takes, milliseconds. */
export const longestCallMs = 41;

/** More calls than a command makes that ends. */
const mostCalls = 30_000;

/** The files of a lake in memory, on which calls take time and fail. */
export class MemoryStore extends MemoryFiles {
  readonly #world: World;
  failures = 0;

  /** `address`: where the lake would be on the local disk; nothing is there. */
  constructor(world: World, observer: Observer, address: string) {
    super(observer, address);
    this.#world = world;
  }

  /** The store as a process has it. */
  storeOf(process: Process, faults: StoreFaults, seed: number): Store {
    const random = randomOf(seed);
    return this.storeOver((name, path, effect) => this.#call(process, { name, path, effect, faults, random }));
  }

  #call<T>(
    process: Process,
    call: {
      readonly name: CallName;
      readonly path: string;
      readonly effect: () => T;
      readonly faults: StoreFaults;
      readonly random: Random;
    },
  ): Promise<T> {
    const { name, path, effect, faults, random } = call;
    const world = this.#world;
    return new Promise<T>((resolve, reject) => {
      const end = process.call();
      if (end === 'dead') return;
      if (process.calls > mostCalls) world.fail(new Violation(`${process.label} makes calls without end`));
      const arrival = world.now() + 2 + random.below(longestCallMs - 1);
      const lot = random.next();
      const isFailing = end === 'alive' && lot < faults.before + faults.after + faults.late;
      const isLate = isFailing && lot >= faults.before + faults.after;
      const delay = isLate ? 60_000 * (1 + random.below(random.chance(0.5) ? 5 : 300)) : 0;
      const isLost = isFailing && lot < faults.before;
      if (isFailing) this.failures++;
      const take = (): T | undefined => {
        if (isLost) return undefined;
        const value = runIn(process, effect);
        world.note(`${process.label} ${name} ${path} ${typeof value === 'boolean' ? String(value) : ''}`);
        return value;
      };
      // What is on its way when a process dies still arrives.
      if (isLate) world.at(arrival + delay, take);
      world.at(arrival, () => {
        const value = isLate ? undefined : take();
        if (process.isDead) return;
        if (isFailing) {
          world.note(`${process.label} fails to ${name} ${path}`);
          reject(failureOf({ name, path }));
        } else resolve(value as T);
      });
    });
  }
}
