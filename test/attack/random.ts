/** Numbers that follow from a seed, the same everywhere. */
export interface Random {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** Whether something of this share (0 to 1) comes about. */
  chance(share: number): boolean;
  /** One of them; throws an Error where there is none. */
  of<T>(things: readonly T[]): T;
  /** One of them, each as often as its weight says. */
  weighted<T>(things: readonly (readonly [thing: T, weight: number])[]): T;
}

/** Mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  const of = <T>(things: readonly T[]): T => {
    const at = below(things.length);
    const [thing] = things.slice(at, at + 1);
    if (thing === undefined) throw new Error('expected something to choose from');
    return thing;
  };
  return {
    below,
    of,
    chance: (share) => next() < share,
    weighted: (things) => {
      let left = next() * things.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [thing, weight] of things) if ((left -= weight) < 0) return thing;
      return of(things)[0];
    },
  };
}
