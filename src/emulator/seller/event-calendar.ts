import type { Density } from './density.js';
import type { Kinds } from './event-mix.js';
import { hash } from './seeded-random.js';

/** Milliseconds. */
export const dayMs = 86_400_000;

const salt = { tie: 31, place: 32, precision: 33 };

export interface Calendar {
  /** When an event was booked, milliseconds since 1970; never before the event with the ordinal before it. */
  instantOf(ordinal: number): number;
  /** The first event at or after an instant. */
  firstAt: (instant: number) => number;
}

/**
 * Each event has a slice of its day to itself and stands somewhere in it, so its instant takes no look at the others.
 * Now and then one stands at the very instant of the one before. Whether instants are cut to the second is decided
 * for each second as a whole, so that cutting doesn't change their order.
 */
export function createCalendar(key: number, density: Density, kinds: Kinds): Calendar {
  const isTied = (ordinal: number) =>
    hash(key, ordinal, salt.tie) >>> 28 === 0 || kinds.isTwin(ordinal, kinds.slotOf(ordinal));

  function instantOf(ordinal: number): number {
    const day = density.dayOf(ordinal);
    const first = density.firstOf(day);
    const count = density.firstOf(day + 1) - first;
    let leader = ordinal;
    while (leader > first && isTied(leader)) leader--;
    const place = (leader - first + hash(key, leader, salt.place) / 0x1_0000_0000) / count;
    const instant = day * dayMs + Math.min(Math.floor(place * dayMs), dayMs - 1);
    const second = Math.floor(instant / 1000);
    return hash(key, second, salt.precision) >>> 29 === 0 ? instant : second * 1000;
  }

  return {
    instantOf,
    firstAt: (instant) => {
      const day = Math.floor(instant / dayMs);
      let from = density.firstOf(day);
      let to = density.firstOf(day + 1);
      while (from < to) {
        const middle = Math.floor((from + to) / 2);
        if (instantOf(middle) < instant) from = middle + 1;
        else to = middle;
      }
      return from;
    },
  };
}
