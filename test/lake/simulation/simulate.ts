import { codeOf } from '../../../src/core/errors.js';
import { zstd } from '../../../src/core/parquet/encoder/zstd.js';
import { Catalog, type CatalogOptions, commitRules } from '../../../src/lake/catalog/catalog.js';
import { FencedRun } from '../../../src/lake/catalog/catalog-errors.js';
import { commitPath, publishedPath } from '../../../src/lake/catalog/catalog-files.js';
import { DamagedFile } from '../../../src/lake/delta/data-file.js';
import { deltaCommit } from '../../../src/lake/publish/delta-commit.js';
import { DeltaPublisher } from '../../../src/lake/publish/publisher.js';
import type { Store } from '../../../src/lake/store/store.js';
import { Checks } from './checks.js';
import type { Mutation } from './mutations.js';
import { randomOf, type Random } from './random.js';
import { tableNames, type Row } from './rows.js';
import type { Meaning } from './sequential-model.js';
import { failureOf } from './memory-files.js';
import { repeating, SimulatedFiles, type Call, type Process } from './simulated-store.js';
import { SmallLake } from './small-lake.js';
import { Violation } from './violation.js';

/** What happened in a run of the simulation. */
export interface Figures {
  commits: number;
  operations: number;
  faults: number;
  late: number;
  deaths: number;
  stalls: number;
  fenced: number;
  unclear: number;
  erased: number;
  damaged: number;
  failed: number;
  readers: number;
}

export interface Outcome {
  readonly seed: number;
  /** What didn't hold; undefined where all did. */
  readonly failure: unknown;
  readonly figures: Figures;
}

/** A writer: a process that opens the lake, does some things, and ends. */
interface Writer extends Process {
  readonly restarts: number;
  run: string | undefined;
  isRunning: boolean;
  /** Whether others would say that it is alive. */
  seemsAlive: boolean;
  stalledFor: number;
}

const maxSteps = 3000;
const accounts = ['a', 'b'];
const windows = [...Array.from({ length: 6 }, (_, day) => [day, day + 1] as const), [0, 2] as const, [4, 6] as const];

/**
 * Plays writers and readers on one lake, as a seed says: their calls in any order, with failures before and after they take
 * effect, calls that take effect late, deaths, stalls, and a clock that goes back.
 */
export async function simulate(seed: number, mutation?: Mutation): Promise<Outcome> {
  // Loaded before: a run has nothing to wait for but its calls.
  await zstd();
  return new Simulation(seed, mutation).run();
}

class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #mutation: Mutation | undefined;
  readonly #checks: Checks;
  readonly #files: SimulatedFiles;
  readonly #late: Call[] = [];
  readonly #writers: Writer[] = [];
  readonly #figures: Figures = {
    commits: 0,
    operations: 0,
    faults: 0,
    late: 0,
    deaths: 0,
    stalls: 0,
    fenced: 0,
    unclear: 0,
    erased: 0,
    damaged: 0,
    failed: 0,
    readers: 0,
  };
  /** How often a call fails, by this seed. */
  readonly #faults: number;
  /** How often it is unclear whether a claim has succeeded. */
  readonly #doubt: number;
  readonly #retention: number;
  readonly #erases: boolean;
  #clock = 1_000_000;
  #names = 0;

  constructor(seed: number, mutation: Mutation | undefined) {
    this.#seed = seed;
    this.#mutation = mutation;
    this.#random = randomOf(seed);
    this.#faults = this.#random.pick([0.3, 1, 1, 2, 3]);
    this.#doubt = this.#random.pick([0, 0, 0, 0.2, 0.5]);
    this.#retention = this.#random.chance(0.3) ? 20_000 : 0;
    this.#erases = this.#random.chance(0.3);
    this.#checks = new Checks(() => this.#clock, this.#retention);
    this.#files = new SimulatedFiles(this.#checks);
    this.#checks.files = this.#files;
  }

  async run(): Promise<Outcome> {
    const writers = 2 + this.#random.below(3);
    for (let at = 0; at < writers; at++) this.#writers.push(this.#launch(0));
    try {
      for (let step = 0; step < maxSteps && this.#checks.failure === undefined; step++) {
        await new Promise((resolve) => setImmediate(resolve));
        if (!this.#step()) break;
        if (this.#random.chance(0.005)) await this.#read();
      }
      if (this.#checks.failure === undefined) await this.#end();
    } catch (error) {
      this.#checks.failure ??= error;
    }
    const { failure, commits, operations } = this.#checks;
    for (const writer of this.#writers) writer.isDead = true;
    return { seed: this.#seed, failure, figures: { ...this.#figures, commits, operations } };
  }

  #launch(restarts: number): Writer {
    const writer: Writer = {
      restarts,
      run: undefined,
      isRunning: true,
      seemsAlive: true,
      stalledFor: 0,
      isDead: false,
    };
    const ended = () => {
      writer.isRunning = false;
      writer.seemsAlive = false;
    };
    this.#play(writer).then(ended, (error: unknown) => {
      ended();
      this.#ended(error);
    });
    return writer;
  }

  /** An error that a run may end with; any other one is a failure. */
  #ended(error: unknown): void {
    if (error instanceof FencedRun) this.#figures.fenced++;
    else if (codeOf(error) === 'LAKE_CONFLICT') this.#figures.erased++;
    else if (codeOf(error) === 'LAKE_UNCLEAR') this.#figures.unclear++;
    else if (error instanceof DamagedFile) {
      this.#figures.damaged++;
      const isOurs = [...this.#checks.damaged].some((path) => error.message.includes(path));
      if (!isOurs) this.#checks.failure ??= new Violation(`a run ended with ${error.message}`);
    } else if (codeOf(error) === 'LAKE_STORE') this.#figures.failed++;
    else this.#checks.failure ??= error;
  }

  /** Lets one call take effect, or fail; false where nobody has anything to do any more. */
  #step(): boolean {
    const random = this.#random;
    this.#clock += random.chance(0.02) ? -random.below(5000) : random.below(1000);
    if (this.#late.length > 0 && random.chance(0.05)) this.#take(this.#late)?.effect();
    for (const writer of this.#writers) if (writer.stalledFor > 0) writer.stalledFor--;
    const isReady = ({ process }: Call) =>
      this.#writers.every((writer) => writer !== process || writer.stalledFor === 0);
    const ready = this.#files.pending.filter(isReady);
    if (ready.length === 0) return this.#files.pending.length > 0 || this.#relaunch();
    const call = random.pick(ready);
    this.#files.pending.splice(this.#files.pending.indexOf(call), 1);
    this.#settle(call);
    return true;
  }

  #settle(call: Call): void {
    const random = this.#random;
    const writer = this.#writers.find((one) => one === call.process);
    const isDoubtful = call.name === 'create' && call.path.startsWith('_catalog/') && random.chance(this.#doubt);
    const fate = isDoubtful ? random.next() * 0.04 : random.next() / this.#faults;
    if (fate < 0.012) {
      this.#figures.faults++;
      call.fail(failureOf(call));
    } else if (fate < 0.03) {
      this.#figures.faults++;
      call.effect();
      call.fail(failureOf(call));
    } else if (fate < 0.04 && call.name !== 'read') {
      this.#figures.late++;
      this.#late.push(call);
      call.fail(failureOf(call));
    } else if (fate < 0.042 && writer !== undefined) {
      this.#kill(writer, call);
    } else if (fate < 0.05 && writer !== undefined) {
      this.#figures.stalls++;
      writer.stalledFor = 20 + random.below(400);
      writer.seemsAlive = random.chance(0.3);
      this.#files.pending.push(call);
    } else {
      call.answer(call.effect());
    }
  }

  /** The process ends: what it was doing takes effect now, later or never. */
  #kill(writer: Writer, call: Call): void {
    this.#figures.deaths++;
    writer.isDead = true;
    writer.seemsAlive = false;
    const { pending } = this.#files;
    for (const one of [call, ...pending.filter(({ process }) => process === writer)]) {
      if (pending.includes(one)) pending.splice(pending.indexOf(one), 1);
      const fate = this.#random.next();
      if (fate < 0.4) one.effect();
      else if (fate < 0.7) this.#late.push(one);
    }
  }

  #take(calls: Call[]): Call | undefined {
    return calls.splice(this.#random.below(calls.length), 1)[0];
  }

  #relaunch(): boolean {
    const at = this.#writers.findIndex(({ isRunning, isDead, restarts }) => (!isRunning || isDead) && restarts < 3);
    const ended = this.#writers[at];
    if (ended === undefined) return false;
    this.#writers[at] = this.#launch(ended.restarts + 1);
    return true;
  }

  /** A lake as a process has it. */
  #open(
    process: Process & { run?: string | undefined },
    columns: readonly string[],
    engine: string,
    store: Store,
  ): Promise<SmallLake> {
    const { habits = [], rules, store: mutated = (one: Store) => one } = this.#mutation ?? {};
    const used = new Set(habits);
    const seen = mutated(store);
    let decided: Meaning[] = [];
    const open = async (): Promise<Catalog> => {
      let isNamed = false;
      const options: CatalogOptions = {
        clock: { now: () => this.#clock },
        random: () => {
          const name = isNamed || !used.has('names runs without a nonce') ? `n${this.#names++}` : 'n';
          isNamed = true;
          // An attempt at a version begins with its decisions.
          this.#checks.meanings.set(name, decided);
          decided = [];
          return name;
        },
        knownTables: tableNames,
        rules: { ...commitRules, ...rules },
      };
      const catalog = await Catalog.open(seen, options);
      process.run = catalog.run;
      return catalog;
    };
    return SmallLake.open({
      store: seen,
      open,
      publish: (catalog) => {
        if (used.has('publishes the newest version only')) return () => publishNewest(seen, catalog, engine);
        const publisher = new DeltaPublisher(seen, catalog, engine);
        return () => publisher.publish();
      },
      now: () => this.#clock,
      runs: { isAlive: (run) => this.#isAlive(run) },
      isCheckpointDue: () => this.#random.chance(0.2),
      columns,
      decided: (meaning) => decided.push(meaning),
      habits: used,
    });
  }

  #isAlive(run: string): boolean {
    // Now and then somebody is wrong about it.
    return this.#writers.some((writer) => writer.run === run && writer.seemsAlive) && !this.#random.chance(0.05);
  }

  /** What a writer does. */
  async #play(writer: Writer): Promise<void> {
    const random = this.#random;
    const columns = random.chance(0.5) ? ['k', 'day'] : ['k', 'day', 'c'];
    const lake = await this.#open(
      writer,
      columns,
      `ledgerlake/${random.below(2)}`,
      repeating(this.#files.storeOf(writer)),
    );
    if (this.#retention > 0 && random.chance(0.3)) await lake.setRetention(this.#retention);
    for (let left = 3 + random.below(8); left > 0; left--) await this.#act(lake);
  }

  async #act(lake: SmallLake): Promise<void> {
    const random = this.#random;
    const account = random.pick(accounts);
    const deeds = [
      'load',
      'load',
      'refresh',
      'compact',
      'compact',
      'import',
      'import',
      'vacuum',
      'group',
      'group',
      'drop',
    ];
    const deed = this.#erases && random.chance(0.08) ? 'erase' : random.pick(deeds);
    const slice = (refresh: boolean) => {
      const loaded = [...lake.catalog.snapshot.keysOf(account, 'p').values()].flatMap(({ origin, window }) =>
        origin === 'api' && window !== undefined ? [[window.start, window.end] as const] : [],
      );
      const [start, end] = random.pick(refresh && loaded.length > 0 ? loaded : windows);
      const key = `w${start}-${end}`;
      return { account, key, window: { start, end }, rows: this.#rows(key, start, end), refresh };
    };
    if (deed === 'load') await lake.load(slice(false));
    if (deed === 'refresh') await lake.load(slice(true));
    if (deed === 'group') await Promise.all([false, true, true, false].map((refresh) => lake.load(slice(refresh))));
    if (deed === 'compact') await lake.compact(account, random.pick(tableNames));
    if (deed === 'import') {
      const first = random.below(5);
      await lake.import(
        account,
        new Map([first, first + 1].map((day) => [day, this.#rows(`imported/${day}`, day, day + 1)])),
      );
    }
    if (deed === 'vacuum') await lake.vacuum();
    if (deed === 'erase') await lake.erase();
    if (deed === 'drop' && random.chance(0.3)) await this.#damage(lake);
  }

  #rows(key: string, start: number, end: number): Row[] {
    const random = this.#random;
    return Array.from({ length: random.below(4) }, () => ({
      k: key,
      day: start + random.below(end - start),
      c: random.pick(['x', 'y', `u${this.#names++ % 6}`]),
    }));
  }

  /** A data file is lost, or changes; the run that finds it takes it out. */
  async #damage(lake: SmallLake): Promise<void> {
    const table = this.#random.pick(tableNames.slice(0, 2));
    const found = [...lake.catalog.snapshot.files(table)];
    if (found.length === 0) return;
    const file = this.#random.pick(found);
    const path = file.lakePath;
    if (this.#checks.truth.has(path)) {
      this.#checks.damaged.add(path);
      if (this.#random.chance(0.5)) this.#files.files.delete(path);
      else this.#files.files.set(path, Buffer.from('[]'));
    }
    await lake.dropDamaged(table, file.path);
  }

  /** A reader that opens the lake by itself, by what hint and checkpoints there are. */
  async #read(): Promise<void> {
    this.#figures.readers++;
    this.#damageHint();
    const options: CatalogOptions = {
      clock: { now: () => this.#clock },
      random: () => 'reader',
      knownTables: tableNames,
    };
    const { snapshot } = await Catalog.open(this.#files.direct(), options);
    this.#compare(snapshot.version, snapshot.hash, (table) => [...snapshot.files(table)].map(({ path }) => path));
  }

  /** The hint may be missing or wrong, and a checkpoint damaged where commits are never erased. */
  #damageHint(): void {
    const { files } = this.#files;
    const checkpoints = [...files.keys()].filter((path) => path.endsWith('.checkpoint'));
    const fate = this.#random.next();
    if (fate < 0.1) files.delete('_catalog/_last-checkpoint');
    else if (fate < 0.2) files.set('_catalog/_last-checkpoint', Buffer.from('{"path":"'));
    else if (fate < 0.3 && checkpoints.length > 0 && !this.#erases) {
      const path = this.#random.pick(checkpoints);
      if (this.#random.chance(0.5)) files.delete(path);
      else files.set(path, (files.get(path) ?? new Uint8Array()).slice(0, 40));
    }
  }

  #compare(version: number, hash: string, pathsOf: (table: string) => string[]): void {
    if (version !== this.#checks.truth.version)
      throw new Violation(`a reader finds version ${version} of ${this.#checks.truth.version}`);
    const state = this.#checks.states.get(version);
    if (state === undefined) return;
    if (state.hash !== hash) throw new Violation(`a reader finds another version ${version}`);
    for (const [table, paths] of state.paths) {
      if (pathsOf(table).toSorted().join() !== paths.join())
        throw new Violation(`a reader finds other files of ${table}`);
    }
  }

  /** Late calls take effect, and one run puts all in order. */
  async #end(): Promise<void> {
    for (const writer of this.#writers) {
      writer.isDead = true;
      writer.seemsAlive = false;
    }
    for (const call of this.#late) call.effect();
    for (const call of this.#files.pending.splice(0)) if (this.#random.chance(0.5)) call.effect();
    const store = this.#files.direct();
    const lake = await this.#open({ isDead: false }, ['k'], 'ledgerlake/2', store);
    for (const path of this.#checks.damaged) {
      const [table = ''] = path.split('/', 1);
      if (lake.catalog.snapshot.has(path)) await lake.dropDamaged(table, path.slice(table.length + 1));
    }
    // Replaced files are retained from the instant of their commit on, which may be behind this clock's.
    this.#clock = Math.max(this.#clock, this.#checks.truth.state.at) + this.#retention;
    await lake.vacuum();
    await lake.publish();
    if (this.#checks.failure !== undefined) return;
    this.#checks.atTheEnd(lake.catalog.snapshot);
    await this.#loseTheEnd();
  }

  /** Without its last commits the lake doesn't open: they were published. */
  async #loseTheEnd(): Promise<void> {
    const { truth, states } = this.#checks;
    const lost = truth.version - this.#random.below(3);
    // One of a lake without a table is published nowhere.
    const before = states.get(lost - 1);
    if (before === undefined || before.versions.size === 0) return;
    const { files } = this.#files;
    for (let version = lost; version <= truth.version; version++) files.delete(commitPath(version));
    for (const path of files.keys())
      if (path.endsWith('.checkpoint') && Number(/\d{20}/.exec(path)?.[0]) >= lost) files.delete(path);
    try {
      await this.#open({ isDead: false }, ['k'], 'ledgerlake/2', this.#files.direct());
    } catch (error) {
      if (codeOf(error) === 'LAKE_LOG') return;
      throw error;
    }
    throw new Violation(`the lake opens without its version ${lost}, which was its last`);
  }
}

/** Publishes the newest version of each table, and not those before it. */
async function publishNewest(store: Store, catalog: Catalog, engine: string): Promise<void> {
  const commit = await catalog.commitAt(catalog.snapshot.version);
  for (const table of Object.keys(commit?.value.tables ?? {})) {
    const version = (catalog.snapshot.tables.get(table)?.versions ?? 0) - 1;
    if (commit !== undefined)
      await store.create(publishedPath(table, version), deltaCommit(table, version, commit, engine));
  }
}

/** A line for people: what failed, and how to play it again. */
export function lineOf({ seed, failure }: Outcome): string {
  const stack = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  const what = failure instanceof Violation ? failure.message : stack.replaceAll(/\s*\n\s*/g, ' | ');
  return `seed ${seed}: ${what}; again: LEDGERLAKE_TEST_SEED=${seed} npx vitest run test/lake/simulation`;
}
