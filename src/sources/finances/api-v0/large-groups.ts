import type { Clock } from '../../../core/clock.js';
import { dayMs } from '../../../core/windows.js';
import { openPersistedState } from '../../../engine/journal/persisted-quota.js';
import type { GroupSpan } from './collectors.js';

/** A settlement that could not be read for its size, as it seems. */
export interface LargeGroup {
  /** Events that came before the service refused to go on. */
  readonly events: number;
  /** When that was: milliseconds since 1970. */
  readonly at: number;
  /** The settlement's end then; null while it was open. */
  readonly end: number | null;
}

/** Settlements that aren't asked for again for a while: each attempt is more than a hundred requests in vain. */
export interface LargeGroups {
  /** What is known of a settlement that isn't to be asked for now. */
  find(group: GroupSpan): LargeGroup | undefined;
  /** Resolves once it is kept. */
  add(group: GroupSpan, events: number): Promise<void>;
}

/** For so long a settlement isn't asked for again, unless its end is another one by then. */
export const patienceMs = 7 * dayMs;

export interface LargeGroupsOptions {
  readonly path: string;
  readonly clock: Clock;
  /** All are asked for again. */
  readonly isForgotten: boolean;
  /** Takes the reason why they can't be kept. */
  readonly warn: (reason: unknown) => void;
}

/** Opens what is known of large settlements in a file on the local disk. */
export async function openLargeGroups({ path, clock, isForgotten, warn }: LargeGroupsOptions): Promise<LargeGroups> {
  const isKnown = (value: unknown): value is LargeGroup => !isForgotten && isLargeGroup(value);
  const known = await openPersistedState(path, isKnown, warn);
  return {
    find: ({ id, end }) => {
      const found = known.stateOf(id);
      return found?.end === end && clock.now() < found.at + patienceMs ? found : undefined;
    },
    add: async ({ id, end }, events) => {
      known.keep(id, { events, at: clock.now(), end });
      await known.flush();
    },
  };
}

function isLargeGroup(value: unknown): value is LargeGroup {
  if (typeof value !== 'object' || value === null) return false;
  const { events, at, end } = value as Readonly<Record<string, unknown>>;
  return Number.isFinite(events) && Number.isFinite(at) && (end === null || Number.isFinite(end));
}
