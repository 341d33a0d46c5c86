/** A token bucket as it was reported last. */
export interface BucketLevel {
  readonly tokens: number;
  readonly rate: number;
  readonly burst: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The tokens that a bucket holds by `now`, milliseconds since 1970. */
export function tokensAt({ tokens, rate, burst, at }: BucketLevel, now: number): number {
  return Math.min(burst, tokens + ((now - at) * rate) / 1000);
}
