import { usageError } from '../../core/errors.js';
import type { FaultRequest } from '../../serve/http/fault-injection.js';
import { type FaultKind, faultKinds, faultRules, isFaultKind } from './fault-rules.js';

/** When a fault hits. What is left out doesn't narrow it. */
export interface FaultSettings {
  /** Share of the requests, events or groups, 0 to 1, by chance that follows from the seed; default: the kind's own. */
  readonly share?: number | undefined;
  /** Which requests may be hit; `share` draws among them. */
  readonly when?: ((request: FaultRequest) => boolean) | undefined;
  /** Only so many hits; a spell is one. */
  readonly times?: number | undefined;
  /**
   * A spell: from a hit on, for so many milliseconds of the service's clock, every request of the same operation (that
   * `when` allows) is hit as well.
   */
  readonly forMs?: number | undefined;
  /** Minutes, days, pages: what the kind's rule says; default: the kind's own. */
  readonly amount?: number | undefined;
}

/**
 * The faults that are switched on. `all`: its share of the requests meets one of the passing faults that have no entry
 * of their own, each as often as the others.
 */
export type Faults = Readonly<Partial<Record<FaultKind | 'all', FaultSettings | undefined>>>;

function checkKind(kind: string, settings: FaultSettings): void {
  if (kind !== 'all' && !isFaultKind(kind)) throw usageError(`There is no fault "${kind}"`);
  const { shareOf, amount: known } =
    kind === 'all' ? { shareOf: 'requests' as const, amount: undefined } : faultRules[kind];
  const { share, when, times, forMs, amount } = settings;
  if (share !== undefined && !(share >= 0 && share <= 1)) {
    throw usageError(`The share of ${kind} must be a number from 0 to 1, not ${share}`);
  }
  if (times !== undefined && !(Number.isSafeInteger(times) && times >= 0)) {
    throw usageError(`The times of ${kind} must be a whole number from 0 on, not ${times}`);
  }
  if (forMs !== undefined && !(forMs > 0)) {
    throw usageError(`The spell of ${kind} must be above 0 milliseconds, not ${forMs}`);
  }
  if (shareOf === 'none' && share !== undefined) {
    throw usageError(`${kind} holds for the whole service and takes no share`);
  }
  if (shareOf !== 'requests' && (when ?? times ?? forMs) !== undefined) {
    throw usageError(`${kind} doesn't hit single requests: it takes no when, times or forMs`);
  }
  if (amount === undefined) return;
  if (known === undefined) throw usageError(`${kind} takes no amount`);
  if (!(Number.isFinite(amount) && amount > 0 && (!known.whole || Number.isSafeInteger(amount)))) {
    const expected = known.whole ? 'a whole number from 1 on' : 'a number above 0';
    throw usageError(`The amount of ${kind} (${known.unit}) must be ${expected}, not ${amount}`);
  }
}

/** Throws a USAGE error for settings that can't be. */
export function checkFaults(faults: Faults): void {
  for (const [kind, settings] of Object.entries(faults)) if (settings !== undefined) checkKind(kind, settings);
}

const decimal = String.raw`\d{1,15}(?:\.\d{1,15})?`;
const shape = new RegExp(`^(?<kind>[a-z-]+)(?::(?<amount>${decimal}))?(?:=(?<share>${decimal}))?$`);

function wrong(entry: string, why: string): Error {
  return usageError(
    `expected --faults to be a list of KIND, KIND=SHARE or KIND:N=SHARE with commas between, got ` +
      `${JSON.stringify(entry.slice(0, 80))} (${why}); the kinds are ${[...faultKinds, 'all'].join(', ')}`,
  );
}

/**
 * Reads the text form of faults: `throttled=0.05,window-limit:7,all=0.1`. A share is from 0 to 1, an amount comes after
 * a colon, and what is left out is the kind's own. Throws a USAGE error for anything else.
 */
export function parseFaults(text: string): Faults {
  const faults: Record<string, FaultSettings> = {};
  for (const entry of text.split(',').map((piece) => piece.trim())) {
    const { kind, amount, share } = shape.exec(entry)?.groups ?? {};
    if (kind === undefined) throw wrong(entry, 'not of that form');
    if (kind !== 'all' && !isFaultKind(kind)) throw wrong(entry, 'no such kind');
    if (Object.hasOwn(faults, kind)) throw wrong(entry, 'given twice');
    if (kind === 'all' && share === undefined) throw wrong(entry, 'all needs a share');
    faults[kind] = {
      ...(amount !== undefined && { amount: Number(amount) }),
      ...(share !== undefined && { share: Number(share) }),
    };
    try {
      checkFaults({ [kind]: faults[kind] });
    } catch (error) {
      throw wrong(entry, error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}
