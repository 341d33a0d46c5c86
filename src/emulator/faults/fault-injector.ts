import type { Clock } from '../../core/clock.js';
import { dayMs, hourMs } from '../../core/windows.js';
import { draw, type FaultRequest, type ServerDependencies } from '../../serve/http/fault-injection.js';
import {
  canHit,
  checkFaults,
  type Faults,
  type FaultSettings,
  type FaultKind,
  faultKinds,
  faultRules,
} from './fault-settings.js';

/** What determines hits, and the receiver of their counts. */
interface FaultInjectorOptions extends Pick<ServerDependencies, 'seed' | 'hit' | 'signIn'> {
  readonly faults: Faults;
  /** Decides when spells end. */
  readonly clock: Pick<Clock, 'now'>;
}

/** Decides which faults hit which requests and events, by the settings, the seed, the request's number, and the spells that last. */
export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  /** Number of hits by kind, spells counted once. */
  readonly #hitCounts = new Map<string, number>();
  /** End of the current spell by kind and operation, milliseconds since 1970. */
  readonly #spells = new Map<string, number>();

  /** @throws LedgerlakeError USAGE for settings that are invalid */
  constructor(options: FaultInjectorOptions) {
    checkFaults(options.faults);
    this.#options = options;
  }

  /** Whether a kind is enabled by name, not through `all`. */
  has(kind: FaultKind): boolean {
    return this.#options.faults[kind] !== undefined;
  }

  /** Whether a kind is enabled by name that doesn't hit requests: only such change what a backend answers. */
  get changesItems(): boolean {
    return faultKinds.some((kind) => this.has(kind) && faultRules[kind].shareOf !== 'requests');
  }

  amount(kind: FaultKind): number {
    return this.#options.faults[kind]?.amount ?? faultRules[kind].amount?.default ?? 0;
  }

  /**
   * Whether a fault hits a request. Call it once for each request, and only where the fault would be visible: a hit is
   * counted.
   */
  hits(kind: FaultKind, request: FaultRequest): boolean {
    const { faults, hit } = this.#options;
    const rule = faultRules[kind];
    if (!canHit(kind, request.operation)) return false;
    const settings = faults[kind];
    const spell = rule.spellMs?.(this.amount(kind));
    const isHit =
      settings === undefined
        ? faults.all !== undefined && this.#passingFault(request) === kind && this.#isHit('all', faults.all, request)
        : this.#isHit(kind, spell === undefined ? settings : { forMs: spell, ...settings }, request);
    if (isHit) hit(kind);
    return isHit;
  }

  /**
   * A pseudo-random number from 0 (included) to 1 (excluded) for something other than a request, such as an event;
   * always the same.
   */
  chance(kind: FaultKind, ...key: readonly (string | number)[]): number {
    return draw(this.#options.seed, kind, ...key);
  }

  /** Whether a fault hits an event or a group, for kinds that hit a share of them. The caller counts the hit. */
  hitsItem(kind: FaultKind, key: string): boolean {
    const settings = this.#options.faults[kind];
    return settings !== undefined && this.chance(kind, key) < (settings.share ?? faultRules[kind].share);
  }

  /** The earliest instant that `history-limit` allows. */
  oldest(asOf: number): number {
    return this.has('history-limit') ? asOf - this.amount('history-limit') * dayMs : -Infinity;
  }

  /** Whether `history-limit` hides an item. Counts the hit. */
  hidesOld(date: number, asOf: number): boolean {
    const isHidden = date < this.oldest(asOf);
    if (isHidden) this.count('history-limit');
    return isHidden;
  }

  /** Whether `recent-incomplete` hides an item that has not arrived yet. Counts the hit. */
  hidesRecent(key: string, date: number, asOf: number): boolean {
    const kind = 'recent-incomplete';
    if (!this.has(kind)) return false;
    // The hour of arrival uses a second random number, independent of the one that selects the item.
    const arrives = date + this.chance(kind, key, 'arrival') * this.amount(kind) * hourMs;
    const isHidden = asOf < arrives && this.hitsItem(kind, key);
    if (isHidden) this.count(kind);
    return isHidden;
  }

  count(kind: FaultKind): void {
    this.#options.hit(kind);
  }

  #isHit(kind: FaultKind | 'all', settings: FaultSettings, request: FaultRequest): boolean {
    const { share = kind === 'all' ? 1 : faultRules[kind].share, when, times = Infinity, forMs } = settings;
    const { seed, clock } = this.#options;
    if (when?.(request) === false) return false;
    const spell = `${kind} ${request.operation}`;
    if (clock.now() < (this.#spells.get(spell) ?? -Infinity)) return true;
    const count = this.#hitCounts.get(kind) ?? 0;
    if (count >= times || draw(seed, kind, request.number) >= share) return false;
    this.#hitCounts.set(kind, count + 1);
    if (forMs !== undefined) this.#spells.set(spell, clock.now() + forMs);
    return true;
  }

  /** The passing fault that `all` draws for this request. */
  #passingFault({ operation, number, hasToken }: FaultRequest): FaultKind | undefined {
    const { seed, signIn } = this.#options;
    const kinds = faultKinds.filter((kind) => {
      if (faultRules[kind].passing !== true || this.has(kind) || !canHit(kind, operation)) return false;
      return (kind !== 'token-loop' || hasToken) && (kind !== 'access-token-expired' || signIn);
    });
    return kinds[Math.floor(draw(seed, 'which of all', number) * kinds.length)];
  }
}
