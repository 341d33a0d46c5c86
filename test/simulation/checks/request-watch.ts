import type { FaultKind } from '../../../src/emulator/faults/fault-settings.js';
import { Violation } from '../../lake/simulation/violation.js';
import type { CatalogWatch } from './catalog-watch.js';
import { longestCallMs } from '../world/store.js';
import { quota, type Served } from '../world/upstream.js';
import type { Machine, Process, World } from '../world/world.js';

/** A run as it begins. */
export interface WatchedLaunch {
  readonly command: { readonly kind: string; readonly refresh?: boolean };
  readonly account: string;
  /** The longest that an answer of the service takes. */
  readonly latencyMs: number;
  /** Whether no call of its store fails. */
  readonly isCalm: boolean;
}

interface WatchedRun extends WatchedLaunch {
  /** Targets that were answered whole. */
  readonly answered: Set<string>;
  /** Whether a fault has hit it that has pages asked for again. */
  isStruck: boolean;
  requests: number;
  failures: number;
  /** Whether nothing has gone wrong, and nothing else has used its quota. */
  isCalm: boolean;
  readonly byOperation: Map<string, number>;
  /** Its first request, and the instant of the last. */
  first?: { readonly at: number; readonly calls: number };
  last: number;
}

/** Faults after which a page may be asked for once more although it was answered. */
const repeating: ReadonlySet<string> = new Set([
  'token-expired',
  'empty-page',
  'token-loop',
  'page-twice',
  'groups-missing',
  'html',
  'wrong-length',
  'page-limit',
  'body-limit',
  'chain-limit',
  'deep-500',
  'window-limit',
  'group-limit',
  'no-list',
]);

/** The time in which the bucket of an operation is full again. */
const fullAfterMs = (quota.burst / quota.rate) * 1000;

/** What the upstream is asked, and how often. */
export class RequestWatch {
  /** Faults of single requests that may hit now. */
  active: ReadonlySet<FaultKind> = new Set();
  requests = 0;
  readonly #struck = new WeakSet<Process>();
  faults = 0;
  /** The target of the last request. */
  last = '';
  readonly #world: World;
  readonly #catalog: CatalogWatch;
  readonly #runs = new Map<Process, WatchedRun>();
  /** Since when an account's quota is known to one machine alone; `Infinity`: more than one run uses it. */
  readonly #quotas = new Map<string, { readonly machine: Machine; readonly offsetMs: number; since: number }>();
  /** Requests that the upstream refused for its quota although no fault said so. */
  throttled = 0;

  constructor(world: World, catalog: CatalogWatch) {
    this.#world = world;
    this.#catalog = catalog;
  }

  readonly hits = (kind: FaultKind): boolean => this.active.has(kind);

  began(process: Process, launch: WatchedLaunch): void {
    const counts = {
      answered: new Set<string>(),
      byOperation: new Map<string, number>(),
      requests: 0,
      failures: 0,
      last: 0,
    };
    this.#runs.set(process, { ...launch, ...counts, isStruck: false });
  }

  /** Whether a fault has hit a run that has pages asked for again, or chains begun again. */
  isStruck(process: Process): boolean {
    return this.#struck.has(process);
  }

  /** @throws Violation where a calm run has waited for longer than the quota, the service and the store have it wait */
  ended(process: Process): void {
    const run = this.#runs.get(process);
    this.#runs.delete(process);
    if (run !== undefined && !process.isDead) checkPace(process, run);
    // What it has used last may not have been noted.
    if (process.isDead) this.#unsettle();
  }

  /** From now on the machines don't know for some time what the upstream has left. */
  #unsettle(): void {
    for (const quota of this.#quotas.values()) quota.since = this.#world.now();
  }

  /** Whether the machine of a process has alone used an account's quota for longer than it takes to be full. */
  #isSettled(account: string, { machine }: Process): boolean {
    const now = this.#world.now();
    const known = this.#quotas.get(account);
    const isSame = known?.machine === machine && known.offsetMs === machine.offsetMs;
    const alone = [...this.#runs].filter(([process, run]) => run.account === account && !process.isDead).length === 1;
    if (known === undefined || !isSame || !alone) {
      this.#quotas.set(account, { machine, offsetMs: machine.offsetMs, since: known === undefined ? -Infinity : now });
    }
    return now - (this.#quotas.get(account)?.since ?? now) > fullAfterMs;
  }

  readonly served = (request: Served): void => {
    if (request.operation !== 'SignIn') this.last = request.target;
    this.requests++;
    this.faults += request.hits.length;
    const run = request.process && this.#runs.get(request.process);
    if (run === undefined || request.operation === 'SignIn') return;
    try {
      this.#check(request, run);
    } catch (error) {
      this.#world.fail(error);
    }
  };

  #check({ operation, target, parameters, answer, hits, process, at }: Served, run: WatchedRun): void {
    run.requests++;
    const isSettled = process !== undefined && this.#isSettled(run.account, process);
    run.isCalm &&= isSettled && this.active.size === 0 && hits.length === 0 && answer.status === 200;
    run.byOperation.set(operation, (run.byOperation.get(operation) ?? 0) + 1);
    run.first ??= { at, calls: process?.calls ?? 0 };
    run.last = at;
    if (hits.some((kind) => kind.startsWith('throttled'))) this.#unsettle();
    else if (answer.status === 429) {
      this.throttled++;
      if (isSettled) throw new Violation(`${process.label} has overdrawn the quota of ${operation}`);
    }
    if (process !== undefined && hits.some((kind) => repeating.has(kind))) this.#struck.add(process);
    if (hits.some((kind) => repeating.has(kind))) run.isStruck = true;
    const isWhole = answer.status === 200 && answer.delivery === 'whole';
    const { command, account } = run;
    if (command.kind === 'backfill' && command.refresh !== true && operation === 'ListFinancialEvents') {
      const { PostedAfter: after = '', PostedBefore: before = '' } = parameters;
      const [start, end] = [Date.parse(after), Date.parse(before)];
      for (const { window, origin } of this.#catalog.truth.keysOf(account, 'financial-events').values()) {
        if (window === undefined || origin !== 'api' || !(window.start <= start && end <= window.end)) continue;
        throw new Violation(`${process?.label ?? ''} asks for ${after} to ${before}, which is loaded`);
      }
    }
    if (!isWhole) {
      run.failures++;
      return;
    }
    if (run.answered.has(target) && !run.isStruck && operation !== 'ListFinancialEventGroups')
      throw new Violation(`${process?.label ?? ''} asks again for ${target}, which was answered`);
    run.answered.add(target);
  }
}

/**
 * The bound of a calm run, from its first request to its last: a token for each request of its busiest operation, the answers one after the
 * other, and the calls of the store between them.
 */
function checkPace(process: Process, { isCalm, first, last, byOperation, latencyMs, requests }: WatchedRun): void {
  if (!isCalm || first === undefined) return;
  const busiest = Math.max(...byOperation.values());
  const bound = (busiest * 1000) / quota.rate + requests * latencyMs + (process.calls - first.calls) * longestCallMs;
  const took = last - first.at;
  if (took > bound)
    throw new Violation(
      `${process.label} takes ${took} ms for ${requests} requests, and its quota and the service ${bound} ms`,
    );
}
