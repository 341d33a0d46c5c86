/** The last reported state of a token bucket; `rate` is tokens a second. */
export interface BucketLevel {
  readonly tokens: number;
  readonly rate: number;
  readonly burst: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The tokens in a bucket at `now`, milliseconds since 1970. */
export function tokensAt({ tokens, rate, burst, at }: BucketLevel, now: number): number {
  return Math.min(burst, tokens + ((now - at) * rate) / 1000);
}
