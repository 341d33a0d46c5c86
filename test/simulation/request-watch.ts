import type { FaultKind } from '../../src/emulator/faults/fault-settings.js';
import { Violation } from '../lake/simulation/violation.js';
import type { CatalogWatch } from './catalog-watch.js';
import type { Served } from './upstream.js';
import type { Process, World } from './world.js';

interface WatchedRun {
  readonly command: { readonly kind: string; readonly refresh?: boolean };
  readonly account: string;
  /** Targets that were answered whole. */
  readonly answered: Set<string>;
  /** Whether a fault has hit it that has pages asked for again. */
  isStruck: boolean;
  requests: number;
  failures: number;
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

/** What the upstream is asked, and how often. */
export class RequestWatch {
  /** Faults of single requests that may hit now. */
  active: ReadonlySet<FaultKind> = new Set();
  requests = 0;
  faults = 0;
  readonly #world: World;
  readonly #catalog: CatalogWatch;
  readonly #runs = new Map<Process, WatchedRun>();

  constructor(world: World, catalog: CatalogWatch) {
    this.#world = world;
    this.#catalog = catalog;
  }

  readonly hits = (kind: FaultKind): boolean => this.active.has(kind);

  began(process: Process, command: WatchedRun['command'], account: string): void {
    this.#runs.set(process, { command, account, answered: new Set(), isStruck: false, requests: 0, failures: 0 });
  }

  ended(process: Process): void {
    this.#runs.delete(process);
  }

  readonly served = (request: Served): void => {
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

  #check({ operation, target, parameters, answer, hits, process }: Served, run: WatchedRun): void {
    run.requests++;
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
