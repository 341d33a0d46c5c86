import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LedgerlakeError, messageOf } from '../../src/core/errors.js';
import { dayMs, hourMs } from '../../src/core/windows.js';
import { repeating } from '../lake/simulation/simulated-store.js';
import { Violation } from '../lake/simulation/violation.js';
import { CatalogWatch } from './checks/catalog-watch.js';
import { closing } from './closing.js';
import { run, type CommandInput } from './commands.js';
import { knownTables, type KnownRows } from './checks/final-checks.js';
import { damage } from './damage.js';
import { checkLoaded } from './checks/loaded-ranges.js';
import { Network } from './world/network.js';
import type { Plan, Step } from './plan.js';
import { RequestWatch } from './checks/request-watch.js';
import { RowWatch } from './checks/row-watch.js';
import { MemoryStore, noStoreFaults } from './world/store.js';
import { StoredRows } from './checks/stored-rows.js';
import * as identities from './substitutes/machine-identity.js';
import { serveUpstream, type Upstream } from './world/upstream.js';
import { Process, runIn, setWorld, World, type Machine, type WorldOptions } from './world/world.js';

export interface Figures {
  steps: number;
  days: number;
  commits: number;
  requests: number;
  upstreamFaults: number;
  storeFaults: number;
  crashes: number;
  failedRuns: number;
  compared: number;
}

export interface Played {
  readonly seed: number;
  readonly failure: Error | undefined;
  /** The step at which it failed. */
  readonly step: number;
  readonly figures: Figures;
  readonly trace: string;
  readonly lines: readonly string[];
}

/** All that is simulated, and what watches it. */
export interface Simulation {
  readonly plan: Plan;
  readonly world: World;
  readonly folder: string;
  readonly store: MemoryStore;
  readonly watch: CatalogWatch;
  readonly rowWatch: RowWatch;
  readonly requestWatch: RequestWatch;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly machines: readonly Machine[];
  readonly figures: Figures;
  /** The first UTC day, milliseconds since 1970. */
  readonly firstDay: number;
  /** What the lake had after some steps. */
  readonly known: KnownRows[];
  /** Starts a process; its command's failure, unless it died. */
  readonly start: (launch: Launch) => Promise<unknown>;
}

export interface Launch extends Pick<Step, 'account' | 'pipelines' | 'seed' | 'machine' | 'crash' | 'store'> {
  readonly label: string;
  readonly command: Parameters<typeof run>[0];
  readonly acceptEmpty?: boolean;
}

/** Plays a plan from its beginning to its end. Never rejects for what is wrong with the program. */
export async function play(plan: Plan, options: WorldOptions = {}): Promise<Played> {
  const temporary = process.env['TMPDIR'];
  const chance = Math.random;
  // Memory, where the system has a folder that is in it.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'ledgerlake-simulation-'));
  process.env['TMPDIR'] = folder;
  const world = new World(plan.seed, plan.start, folder, options);
  setWorld(world);
  Math.random = () => world.random.next();
  const simulation = simulationOf(plan, world, folder);
  let step = -1;
  let failure: Error | undefined;
  try {
    for (const one of plan.steps) {
      step = one.number;
      await playStep(simulation, one);
    }
    step = plan.steps.length;
    await closing(simulation);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  } finally {
    simulation.rows.close();
    identities.endAll();
    setWorld(undefined);
    Math.random = chance;
    if (temporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = temporary;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  const { figures } = simulation;
  figures.commits = simulation.watch.commits;
  figures.storeFaults = simulation.store.failures;
  figures.compared = simulation.rowWatch.compared;
  figures.requests = simulation.requestWatch.requests;
  figures.upstreamFaults = simulation.requestWatch.faults;
  return { seed: plan.seed, failure, step, figures, trace: world.traceHash(), lines: world.lines };
}

function simulationOf(plan: Plan, world: World, folder: string): Simulation & { readonly rows: StoredRows } {
  const network = new Network(world);
  const rows = new StoredRows(folder);
  const watch = new CatalogWatch(world, (commit) => {
    world.check(() => rowWatch.committed(commit));
  });
  const store = new MemoryStore(world, watch, join(folder, 'lake'));
  watch.files = store.files;
  const requestWatch = new RequestWatch(world, watch);
  const upstreams = new Map(
    plan.sellers.map((traits) => {
      const options = {
        hits: requestWatch.hits,
        served: requestWatch.served,
      };
      return [traits.account, serveUpstream(world, network, traits, options)];
    }),
  );
  const rowWatch: RowWatch = new RowWatch({
    rows,
    files: store.files,
    damaged: watch.damaged,
    inheritedMs: hourMs,
    isStruck: (process) => requestWatch.isStruck(process),
    answersOf: (account) => upstreamOf(upstreams, account).backend.answers,
    textsOf: (account, { start, end }, asOf) => upstreamOf(upstreams, account).texts({ start, end }, asOf),
  });
  const machines = Array.from({ length: plan.machines }, (_, at): Machine => {
    const local = join(folder, `machine-${at}`);
    mkdirSync(local);
    return { name: `machine-${at}`, folder: local, offsetMs: 0 };
  });
  const figures: Figures = {
    steps: 0,
    days: plan.days,
    commits: 0,
    requests: 0,
    upstreamFaults: 0,
    storeFaults: 0,
    crashes: 0,
    failedRuns: 0,
    compared: 0,
  };
  const firstDay = Math.floor(plan.start / dayMs) * dayMs;
  const known = {
    plan,
    world,
    folder,
    store,
    watch,
    rowWatch,
    requestWatch,
    upstreams,
    machines,
    figures,
    firstDay,
    known: [],
  };
  return { ...known, rows, start: (launch) => start(known, launch) };
}

export function upstreamOf(upstreams: ReadonlyMap<string, Upstream>, account: string): Upstream {
  const found = upstreams.get(account);
  if (found === undefined) throw new Error(`there is no ${account}`);
  return found;
}

/** Runs a command as a process, to its end or its death. Resolves with its failure. */
async function start(simulation: Omit<Simulation, 'start'>, launch: Launch): Promise<unknown> {
  const { world, store, machines, figures, upstreams, requestWatch, firstDay } = simulation;
  const { account, pipelines, seed, machine: number, crash, label, command, acceptEmpty } = launch;
  const machine = machines[number] ?? machines[0];
  if (machine === undefined) throw new Error('there is no machine');
  const program = new Process({
    machine,
    pid: world.newPid(),
    label,
    command: command.kind,
    startedAt: world.now(),
    crash,
  });
  identities.begin(program.pid);
  const upstream = upstreamOf(upstreams, account);
  const isCalm = launch.store === noStoreFaults;
  requestWatch.began(program, { command, account, latencyMs: upstream.latencyMs.most, isCalm });
  const own = store.storeOf(program, launch.store, seed);
  const input: CommandInput = {
    world,
    process: program,
    upstream,
    pipelines,
    firstDay,
    store: seed % 3 === 0 ? own : repeating(own),
    ...(acceptEmpty === true && { acceptEmpty }),
  };
  world.note(`${label} begins: ${JSON.stringify(command)} of ${account}`);
  const ended = runIn(program, () => run(command, input)).then(
    () => undefined,
    (error: unknown) => error ?? new Error('it failed without a reason'),
  );
  const failure = await Promise.race([ended, program.death.then(() => dead)]);
  program.isOver = true;
  identities.end(program.pid);
  requestWatch.ended(program);
  if (failure === dead) {
    figures.crashes++;
    world.note(`${label} dies at call ${program.calls}`);
    return undefined;
  }
  if (failure === undefined) {
    checkLoaded(simulation, launch, program);
    const isAlone = simulation.plan.steps.every(({ beside }) => beside === undefined);
    if (isAlone) simulation.rowWatch.checkAnswered(account, program.startedAt);
  } else figures.failedRuns++;
  world.note(`${label} ends: ${failure === undefined ? 'done' : messageOf(failure)}`);
  return failure;
}

const dead = Symbol('dead');

async function playStep(simulation: Simulation, step: Step): Promise<void> {
  const { world, figures, requestWatch, machines } = simulation;
  await world.pass(step.after);
  figures.steps++;
  const machine = machines[step.machine];
  if (machine !== undefined && step.clockChangeMs !== 0) {
    machine.offsetMs = step.clockChangeMs;
    world.note(`the clock of ${machine.name} is ${step.clockChangeMs} ms off`);
  }
  requestWatch.active = new Set(step.upstream);
  const label = `#${step.number}`;
  if (step.command.kind === 'damage') {
    await damage(simulation, step.command.what, step, label);
    return;
  }
  const first = simulation.start({ ...step, command: step.command, label });
  const runs = [first];
  const { beside } = step;
  if (beside !== undefined && beside.command.kind !== 'damage') {
    const launch: Launch = { ...beside, command: beside.command, store: step.store, label: `${label}b` };
    const second = new Promise<unknown>((resolve) => {
      world.at(world.now() + beside.delayMs, () => {
        resolve(simulation.start(launch));
      });
    });
    runs.push(second);
  }
  for (const failure of await world.play(Promise.all(runs))) checkFailure(failure, step, simulation);
  noteKnown(simulation, step);
}

/**
 * Notes what the lake has, to be asked for at the end: until a clock is off or a call of the store is late, and only where nothing is
 * taken out later.
 */
function noteKnown({ world, plan, rowWatch, known }: Simulation, step: Step): void {
  const takesOut = plan.steps.some(({ command, beside }) =>
    [command.kind, beside?.command.kind].some((kind) => kind === 'forget' || kind === 'damage'),
  );
  const before = plan.steps.filter(({ number }) => number <= step.number);
  const isPlain = before.every(({ clockChangeMs, store }) => clockChangeMs === 0 && store.late === 0);
  if (takesOut || !isPlain || step.seed % 2 > 0) return;
  const { account } = step;
  for (const table of knownTables) {
    const rows = rowWatch.total(account, table);
    if (rows.count > 0) known.push({ account, table, at: world.now() + 1, key: rows.key() });
  }
}

/** A run may only fail where something was wrong around it. */
export function checkFailure(
  failure: unknown,
  step: Pick<Step, 'number' | 'upstream' | 'store' | 'beside'>,
  simulation: Simulation,
): void {
  if (failure === undefined) return;
  if (!(failure instanceof LedgerlakeError)) throw failure instanceof Error ? failure : new Error(messageOf(failure));
  if (isExcused(failure, step, simulation)) return;
  throw new Violation(`step ${step.number} fails without a reason: ${failure.code} ${failure.message}`, {
    cause: failure,
  });
}

function isExcused(
  { code, message }: LedgerlakeError,
  step: Pick<Step, 'upstream' | 'store' | 'beside'>,
  { plan, figures, machines }: Simulation,
): boolean {
  if (step.store !== noStoreFaults || step.upstream.length > 0) return code !== 'LAKE_LOG' && code !== 'ENCODER';
  // A second run; a lease whose process is dead on another machine.
  if (code === 'LAKE_CONFLICT') return step.beside !== undefined || figures.crashes > 0;
  if (machines.some(({ offsetMs }) => offsetMs !== 0) && code.startsWith('UPSTREAM')) return true;
  if (
    plan.sellers.some(({ oneIn, faults }) => oneIn > 0 || 'recent-incomplete' in faults) &&
    ['UPSTREAM_EMPTY', 'UPSTREAM_ACCOUNT'].includes(code)
  )
    return true;
  if (
    plan.sellers.some(({ faults }) => 'clock-fast' in faults || 'clock-slow' in faults) &&
    code.startsWith('UPSTREAM')
  )
    return true;
  // Nothing is in the lake yet, or nothing of that account any more.
  return code === 'USAGE' && /expected --account to be an account|empty|expected --from|no lake/.test(message);
}
