import type { Clock } from '../../../core/clock.js';
import { dayMs } from '../../../core/windows.js';
import type { PathBelow } from '../../../core/io/links.js';
import { openPersistedState } from '../../../engine/page-journal/persisted-quota.js';
import type { GroupSpan } from './collectors.js';

/** A settlement that was probably too large to read. */
export interface LargeGroup {
  /** Events received before the refusal. */
  readonly events: number;
  /** Time of the refusal: milliseconds since 1970. */
  readonly at: number;
  /** The settlement's end at that time; null: open. */
  readonly end: number | null;
}

/** Settlements that aren't read for a while: each attempt wastes more than a hundred requests. */
export interface LargeGroups {
  /** The record of a settlement that isn't due for a retry; undefined otherwise. */
  find(group: GroupSpan): LargeGroup | undefined;
  /** Resolves once it is persisted. */
  add(group: GroupSpan, events: number): Promise<void>;
}

/** How long a settlement isn't read again, unless its end changes. */
export const patienceMs = 7 * dayMs;

interface LargeGroupsOptions {
  readonly file: PathBelow;
  readonly clock: Clock;
  /** Whether all are read again. */
  readonly isForgotten: boolean;
  /** Called with the reason why they can't be persisted. */
  readonly warn: (reason: unknown) => void;
}

/** Opens the record of large settlements in a file on the local disk. */
export async function openLargeGroups({ file, clock, isForgotten, warn }: LargeGroupsOptions): Promise<LargeGroups> {
  const isKnown = (value: unknown): value is LargeGroup => !isForgotten && isLargeGroup(value);
  const known = await openPersistedState(file, isKnown, warn);
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
