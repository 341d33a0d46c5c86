/** Requests a second between which a rate that the service names is taken: one in 200 s is below all that it is known for. */
const least = 0.005;
const most = 10_000;

/** What a header that names a rate comes to. */
export interface NamedRate {
  /** Requests a second; undefined: none that can be told. */
  readonly rate: number | undefined;
  /** Whether it is the rate that was named. */
  readonly isFit: boolean;
}

/**
 * Reads the rate that an answer names. One that is too low would stop a run for years, one that is too high is no quota:
 * the nearest rate that is taken counts. What isn't a number above 0 changes nothing.
 */
export function readNamedRate(header: string): NamedRate {
  const named = header.trim() === '' ? NaN : Number(header);
  if (!(Number.isFinite(named) && named > 0)) return { rate: undefined, isFit: false };
  const rate = Math.min(most, Math.max(least, named));
  return { rate, isFit: rate === named };
}
