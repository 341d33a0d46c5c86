/** The remaining work of one operation, in pages; a page is a request. */
interface Backlog {
  /** Expected remaining pages of each open slice, at least 1. */
  readonly open: readonly number[];
  readonly stretches: readonly Stretch[];
  readonly quota: QuotaState;
  /** Seconds from a request to its whole answer. */
  readonly latency: number;
}

/** A part of a range that isn't open yet. */
export interface Stretch {
  /** Expected number. */
  readonly pages: number;
  /** Whether it may be read as several slices. */
  readonly isCuttable: boolean;
}

export interface QuotaState {
  /** Requests a second. */
  readonly rate: number;
  /** Requests at once, and those available now. */
  readonly burst: number;
  readonly level: number;
}

/** How many slices to open, and of which size. */
export interface ConcurrencyPlan {
  /** Slices open at once. */
  readonly open: number;
  /** Maximum of pages in a slice. */
  readonly pages: number;
}

/** More open slices need more memory, and each waits longer for its turn while its cursor ages. */
const maxOpen = 20;

/** Well below the 150 pages after which the service refuses a chain. */
export const maxPages = 100;

/** Expected pages above which a slice is abandoned after its first pages, and cut again. */
export const oversizedPages = 130;

/** Slice sizes to try, the largest first: each cut costs half a request on average, as the last page is half empty. */
const sizes = [maxPages, 60, 40, 30, 22, 16, 12, 9, 7];

/** Pages above which the size of the next slices doesn't affect the end. */
const farPages = 3000;

/** A margin for slower answers and larger slices than expected. */
const pessimism = 1.05;

/** Factor by which a plan may be slower than the quota allows. */
const tolerance = 1.01;

/**
 * How many slices to keep open, and how large to cut them, so that only the quota limits the speed. A chain of pages is
 * sequential: with slow answers one chain can't use the quota, and a long last one delays the end. The reading is simulated,
 * beginning with the fewest cuts and the fewest open slices, until a plan is as fast as the quota allows. Otherwise the fastest
 * plan is chosen.
 */
export function planConcurrency({ open, stretches, quota, latency }: Backlog): ConcurrencyPlan {
  const uncut = [...open.map(Math.round), ...stretches.map((stretch) => requests(stretch.pages))];
  const pages = uncut.reduce((sum, count) => sum + count, 0);
  const fewest = Math.min(maxOpen, Math.max(1, Math.ceil(latency * quota.rate)));
  if (pages > farPages) return { open: Math.min(maxOpen, Math.ceil(fewest * 1.3)), pages: maxPages };
  const quotaSeconds = Math.max(0, (pages - quota.level) / quota.rate) + latency;
  let best: ConcurrencyPlan | undefined;
  let fastest = Infinity;
  for (const size of sizes) {
    const rest = stretches.flatMap((stretch) =>
      stretch.isCuttable ? equalParts(stretch.pages, size) : [stretch.pages],
    );
    for (const count of new Set([fewest, fewest * 2, fewest * 4, maxOpen].filter((n) => n <= maxOpen))) {
      const seconds = secondsFor(open, rest, count, quota, latency * pessimism);
      if (seconds <= quotaSeconds * tolerance + 1) return { open: count, pages: size };
      if (seconds < fastest) {
        best = { open: count, pages: size };
        fastest = seconds;
      }
    }
    // Smaller slices change nothing.
    if (rest.every((count) => count <= 1)) break;
  }
  return best ?? { open: fewest, pages: maxPages };
}

/** Equal parts of so many pages, none much larger than `size`. */
export function equalParts(pages: number, size: number): number[] {
  const count = Math.max(1, Math.ceil(pages / size - 0.15));
  return Array<number>(count).fill(pages / count);
}

/** Requests for a slice of this many expected pages: its last page is half empty on average. */
function requests(pages: number): number {
  return Math.max(1, Math.round(pages + 0.5));
}

interface RunningChain {
  left: number;
  /** When its answer arrives, in seconds from the start. */
  answered: number;
}

/** Simulates the reading: seconds until the last answer, where each chain requests its pages in sequence. */
function secondsFor(
  open: readonly number[],
  rest: readonly number[],
  most: number,
  { rate, burst, level }: QuotaState,
  latency: number,
): number {
  const waiting = open.map((pages): RunningChain => ({ left: Math.max(1, Math.round(pages)), answered: 0 }));
  const asked: RunningChain[] = [];
  let next = 0;
  let now = 0;
  let tokens = level;
  const openMore = (): void => {
    while (waiting.length + asked.length < most && next < rest.length) {
      waiting.push({ left: requests(rest[next] ?? 0), answered: 0 });
      next++;
    }
  };
  openMore();
  for (let first = 0; ;) {
    while (first < waiting.length && tokens >= 1 - 1e-9) {
      const chain = waiting[first++];
      if (chain === undefined) break;
      tokens--;
      chain.left--;
      chain.answered = now + latency;
      asked.push(chain);
    }
    waiting.splice(0, first);
    first = 0;
    const answer = asked[0]?.answered ?? Infinity;
    const token = waiting.length > 0 ? now + (1 - tokens) / rate : Infinity;
    const then = Math.min(answer, token);
    if (then === Infinity) return now;
    tokens = Math.min(burst, tokens + (then - now) * rate);
    now = then;
    // All answers take equally long, so they arrive in order of request.
    while (asked[0] !== undefined && asked[0].answered <= now) {
      const chain = asked.shift();
      if (chain !== undefined && chain.left > 0) waiting.push(chain);
    }
    openMore();
  }
}
