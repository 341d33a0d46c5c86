/** A bucket between two readings; times here are in milliseconds. */
export interface Bucket {
  /** Between two tokens, once the burst is spent. */
  readonly tokenMs: number;
  readonly burst: number;
  /** When it is full (again): what `TokenBucket.state` is. */
  fullAt: number;
}

/** How requests of one operation follow on each other. */
export interface Reading {
  readonly start: number;
  readonly requests: number;
  /** Slices that are open at once: within each, a request waits for the answer to the one before. */
  readonly chains: number;
  /** From a request to its whole answer. */
  readonly latencyMs: number;
  /** Tokens that are there at the start. */
  readonly level: number;
  readonly tokenMs: number;
}

/** What `scheduler.ts` opens at the most, and by what it may be slower than the quota before it opens more (`concurrency-plan.ts`). */
const mostOpen = 20;
const tolerance = { factor: 1.01, ms: 1000 };

/** A billionth of a token: for what adds up to just below a whole one. */
const grain = 1e-9;

/** A reading by as many chains as the runner opens: as few as use the quota. `slices` can be read side by side. */
export function readingOf(
  start: number,
  requests: number,
  slices: number,
  latencyMs: number,
  { tokenMs, burst, fullAt }: Bucket,
): Reading {
  const level = burst - Math.min(burst, Math.max(0, fullAt - start) / tokenMs);
  const by = (chains: number): Reading => ({ start, requests, chains, latencyMs, level, tokenMs });
  const most = Math.max(1, Math.min(mostOpen, slices));
  const fewest = Math.min(most, Math.max(1, Math.ceil(latencyMs / tokenMs)));
  const leastMs = Math.max(0, requests - level) * tokenMs + latencyMs;
  for (const chains of [fewest, 2 * fewest, 4 * fewest]) {
    if (chains < most && lengthOf(by(chains)) <= leastMs * tolerance.factor + tolerance.ms) return by(chains);
  }
  return by(most);
}

/** When a request goes out, counted from 0: as soon as there is a token for it and a chain has its answer. */
export function sentAt({ start, chains, latencyMs, level, tokenMs }: Reading, request: number): number {
  return start + Math.max(0, (request + 1 - level) * tokenMs, Math.floor(request / chains) * latencyMs);
}

/** From the start to the last answer. */
export function lengthOf(reading: Reading): number {
  if (reading.requests === 0) return 0;
  return sentAt(reading, reading.requests - 1) + reading.latencyMs - reading.start;
}

/** Requests that have gone out up to an instant, that one included. */
export function sentBy(reading: Reading, instant: number): number {
  const { start, requests, chains, latencyMs, level, tokenMs } = reading;
  const elapsed = instant - start;
  if (elapsed < 0) return 0;
  const byTokens = Math.floor(level + elapsed / tokenMs + grain);
  const byChains = chains * (Math.floor(elapsed / latencyMs + grain) + 1);
  return Math.min(requests, byTokens, byChains);
}

/** Requests whose answer is there at an instant. */
export function answeredBy(reading: Reading, instant: number): number {
  return sentBy(reading, instant - reading.latencyMs);
}

/** When the bucket is full after the first so many requests of a reading. */
export function fullAfter({ fullAt }: Bucket, reading: Reading, requests: number): number {
  if (requests === 0) return fullAt;
  const { start, chains, tokenMs } = reading;
  // Each request takes it from there, or from its own instant, one token further. Where batches come more slowly than
  // tokens, the bucket may have been full between them: then the last batch decides.
  const last = Math.floor((requests - 1) / chains) * chains;
  return Math.max(Math.max(fullAt, start) + requests * tokenMs, sentAt(reading, last) + (requests - last) * tokenMs);
}
