import { draw, type FaultRequest } from '../../serve/http/fault-injection.js';
import {
  checkFaults,
  type Faults,
  type FaultSettings,
  type FaultKind,
  faultKinds,
  faultRules,
} from './fault-settings.js';

/** What decides and counts hits. */
interface FaultInjectorOptions {
  readonly faults: Faults;
  /** Decides every chance. */
  readonly seed: number;
  /** Milliseconds since 1970, for spells. */
  readonly now: () => number;
  /** Told of every hit. */
  readonly hit: (kind: FaultKind) => void;
  /** Whether there are access tokens, which else can't expire by chance. */
  readonly signIn: boolean;
}

/** Decides which faults hit what, by the settings, the seed and the request's number alone. */
export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  /** How often each kind struck by itself. */
  readonly #struck = new Map<string, number>();
  /** Kind and operation, with the instant at which the spell ends. */
  readonly #spells = new Map<string, number>();

  /** Throws a USAGE error for settings that can't be. */
  constructor(options: FaultInjectorOptions) {
    checkFaults(options.faults);
    this.#options = options;
  }

  /** Whether a kind is switched on by its own name. */
  has(kind: FaultKind): boolean {
    return this.#options.faults[kind] !== undefined;
  }

  amount(kind: FaultKind): number {
    return this.#options.faults[kind]?.amount ?? faultRules[kind].amount?.usual ?? 0;
  }

  /** Whether a fault hits a request. To be asked once, and only where the fault would show: a yes is counted. */
  hits(kind: FaultKind, request: FaultRequest): boolean {
    const { faults, hit } = this.#options;
    const rule = faultRules[kind];
    if (request.operation === 'SignIn' && rule.signIn !== true) return false;
    if (rule.only?.includes(request.operation) === false) return false;
    const settings = faults[kind];
    const spell = rule.spellMs?.(this.amount(kind));
    const struck =
      settings === undefined
        ? faults.all !== undefined && this.#drawn(request) === kind && this.#isHit('all', faults.all, request)
        : this.#isHit(kind, spell === undefined ? settings : { forMs: spell, ...settings }, request);
    if (struck) hit(kind);
    return struck;
  }

  /** A chance from 0 up to 1 for a thing that isn't a request, such as an event: always the same one. */
  chance(kind: FaultKind, ...key: readonly (string | number)[]): number {
    return draw(this.#options.seed, kind, ...key);
  }

  /** Whether a fault that hits a share of events or groups hits this one. To count it is the caller's matter. */
  hitsItem(kind: FaultKind, key: string): boolean {
    const settings = this.#options.faults[kind];
    return settings !== undefined && this.chance(kind, key) < (settings.share ?? faultRules[kind].share);
  }

  count(kind: FaultKind): void {
    this.#options.hit(kind);
  }

  #isHit(kind: FaultKind | 'all', settings: FaultSettings, request: FaultRequest): boolean {
    const { share = 1, when, times = Infinity, forMs } = settings;
    const { seed, now } = this.#options;
    if (when?.(request) === false) return false;
    const spell = `${kind} ${request.operation}`;
    if (now() < (this.#spells.get(spell) ?? -Infinity)) return true;
    const struck = this.#struck.get(kind) ?? 0;
    if (struck >= times || draw(seed, kind, request.number) >= share) return false;
    this.#struck.set(kind, struck + 1);
    if (forMs !== undefined) this.#spells.set(spell, now() + forMs);
    return true;
  }

  /** Which of the passing faults `all` means for this request. */
  #drawn({ operation, number, hasToken }: FaultRequest): FaultKind | undefined {
    const { seed, signIn } = this.#options;
    const kinds = faultKinds.filter((kind) => {
      const { passing, signIn: hitsSignIn } = faultRules[kind];
      if (passing !== true || this.has(kind)) return false;
      if (operation === 'SignIn') return hitsSignIn === true;
      return (kind !== 'token-loop' || hasToken) && (kind !== 'access-token-expired' || signIn);
    });
    return kinds[Math.floor(draw(seed, 'which of all', number) * kinds.length)];
  }
}
