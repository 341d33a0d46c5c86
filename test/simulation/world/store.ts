import { LedgerlakeError } from '../../../src/core/errors.js';
import { compare } from '../../../src/core/compare.js';
import { clampRange, type Store, type StoredFile } from '../../../src/lake/store/store.js';
import { randomOf, type Random } from '../../lake/simulation/random.js';
import { Violation } from '../../lake/simulation/violation.js';
import type { Observer } from '../../lake/simulation/simulated-store.js';
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

/** More calls than a command makes that ends. */
const mostCalls = 30_000;

type CallName = 'read' | 'create' | 'write' | 'remove' | 'list';

/** The files of a lake in memory. */
export class MemoryStore {
  readonly files = new Map<string, Uint8Array>();
  readonly #world: World;
  readonly #observer: Observer;
  /** Where the lake would be on the local disk: nothing is there. */
  readonly #address: string;
  failures = 0;

  constructor(world: World, observer: Observer, address: string) {
    this.#world = world;
    this.#observer = observer;
    this.#address = address;
  }

  create(path: string, bytes: Uint8Array): boolean {
    if (this.files.has(path)) return false;
    this.files.set(path, bytes.slice());
    this.#observer.created(path, bytes);
    return true;
  }

  write(path: string, bytes: Uint8Array): void {
    const before = this.files.get(path);
    this.files.set(path, bytes.slice());
    this.#observer.written(path, bytes, before);
  }

  remove(path: string): void {
    this.#observer.removed(path);
    this.files.delete(path);
  }

  list(folder: string, after = ''): StoredFile[] {
    const prefix = folder === '' ? '' : `${folder}/`;
    return [...this.files.keys()]
      .filter((path) => path.startsWith(prefix) && path > after)
      .toSorted(compare)
      .map((path) => ({ path, size: this.files.get(path)?.length ?? 0, modifiedAt: 0 }));
  }

  /** The store as a process has it. */
  storeOf(process: Process, faults: StoreFaults, seed: number): Store {
    const random = randomOf(seed);
    return this.#store((name, path, effect) => this.#call(process, { name, path, effect, faults, random }));
  }

  /** The store as an observer has it, who takes no time. */
  direct(): Store {
    return this.#store((_name, _path, effect) => Promise.resolve().then(effect));
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
      const arrival = world.now() + 2 + random.below(40);
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
          reject(failureOf(name, path));
        } else resolve(value as T);
      });
    });
  }

  #store(call: <T>(name: CallName, path: string, effect: () => T) => Promise<T>): Store {
    return {
      location: 'lake',
      address: (path) => (path === '' ? this.#address : `${this.#address}/${path}`),
      localPath: () => undefined,
      read: (path) => call('read', path, () => this.files.get(path)?.slice()),
      readRange: (path, start, length) =>
        call('read', path, () => {
          const bytes = this.files.get(path);
          if (bytes === undefined) return undefined;
          const { from, to } = clampRange(bytes.length, start, length);
          return bytes.slice(from, to);
        }),
      write: (path, bytes) =>
        call('write', path, () => {
          this.write(path, bytes);
        }),
      create: (path, bytes) => call('create', path, () => this.create(path, bytes)),
      list: (folder, after) => listed(call('list', folder, () => this.list(folder, after))),
      remove: (path) =>
        call('remove', path, () => {
          this.remove(path);
        }),
      removeUnfinished: () => Promise.resolve(0),
    };
  }
}

/** The error of a call that fails: of a claim it is unclear who won. */
function failureOf(name: CallName, path: string): LedgerlakeError {
  const code = name === 'create' ? 'LAKE_UNCLEAR' : 'LAKE_STORE';
  return new LedgerlakeError(code, `cannot ${name} ${path}: the simulation makes it fail`);
}

async function* listed(files: Promise<StoredFile[]>): AsyncGenerator<StoredFile> {
  yield* await files;
}
