/** What is left to read of one operation, in pages; a page is a request. */
export interface Backlog {
  /** Pages that each open slice is expected to have left, from 1 on. */
  readonly open: readonly number[];
  readonly stretches: readonly Stretch[];
  readonly quota: Quota;
  /** Seconds from a request to its whole answer. */
  readonly latency: number;
}

/** What isn't open yet. */
export interface Stretch {
  /** Expected. */
  readonly pages: number;
  /** Whether it may be read as several slices. */
  readonly isCuttable: boolean;
}

export interface Quota {
  /** Requests a second. */
  readonly rate: number;
  /** Requests at once, and how many of them are there now. */
  readonly burst: number;
  readonly level: number;
}

/** How to go on opening slices. */
export interface ConcurrencyPlan {
  /** Slices that are open at once. */
  readonly open: number;
  /** Pages of a slice at the most. */
  readonly pages: number;
}

/** More open slices hold more pages in memory, and each waits longer for its turn, while its token ages. */
const maxOpen = 20;

/** Well inside the 150 pages after which the service refuses a chain. */
export const maxPages = 100;

/** Pages that a slice may turn out to have more than that, before it is given up after its first pages and cut anew. */
export const oversizedPages = 130;

/** Sizes that are tried, the largest first: each cut costs half a request on average, for the last page is half empty. */
const sizes = [maxPages, 60, 40, 30, 22, 16, 12, 9, 7];

/** Pages beyond which the end is too far away for how slices are cut now to matter. */
const farPages = 3000;

/** What may go wrong with an estimate: answers that take longer, slices that have more than was expected. */
const pessimism = 1.05;

/** By so much a way may be slower than the quota, which no way can beat. */
const tolerance = 1.01;

/**
 * How many slices to keep open, and how large to cut them, so that the quota is what decides when all is read. A chain of
 * pages is sequential: with slow answers one alone can't use the quota, and at the end a long one keeps everybody waiting.
 * What comes is played through, first with the fewest cuts and the fewest slices open, until a way is as fast as the quota
 * allows; where none is, the fastest.
 */
export function planConcurrency({ open, stretches, quota, latency }: Backlog): ConcurrencyPlan {
  const uncut = [...open.map(Math.round), ...stretches.map((stretch) => requests(stretch.pages))];
  const pages = uncut.reduce((sum, some) => sum + some, 0);
  const fewest = Math.min(maxOpen, Math.max(1, Math.ceil(latency * quota.rate)));
  if (pages > farPages) return { open: Math.min(maxOpen, Math.ceil(fewest * 1.3)), pages: maxPages };
  const quotaSeconds = Math.max(0, (pages - quota.level) / quota.rate) + latency;
  let best: ConcurrencyPlan | undefined;
  let fastest = Infinity;
  for (const size of sizes) {
    const rest = stretches.flatMap((stretch) => (stretch.isCuttable ? pieces(stretch.pages, size) : [stretch.pages]));
    for (const count of new Set([fewest, fewest * 2, fewest * 4, maxOpen].filter((n) => n <= maxOpen))) {
      const seconds = secondsFor(open, rest, count, quota, latency * pessimism);
      if (seconds <= quotaSeconds * tolerance + 1) return { open: count, pages: size };
      if (seconds < fastest) {
        best = { open: count, pages: size };
        fastest = seconds;
      }
    }
    // Cutting finer changes nothing any more.
    if (rest.every((some) => some <= 1)) break;
  }
  return best ?? { open: fewest, pages: maxPages };
}

/** Equal parts of so many pages, none much larger than `size`. */
export function pieces(pages: number, size: number): number[] {
  const count = Math.max(1, Math.ceil(pages / size - 0.15));
  return Array<number>(count).fill(pages / count);
}

/** Requests for a slice of so many expected pages: its last page is half empty on average. */
function requests(pages: number): number {
  return Math.max(1, Math.round(pages + 0.5));
}

interface Chain {
  left: number;
  /** When its answer is there, seconds from now. */
  answered: number;
}

/** Plays the reading through: seconds until the last answer, each chain asking for one page after the other, in turn. */
function secondsFor(
  open: readonly number[],
  rest: readonly number[],
  most: number,
  { rate, burst, level }: Quota,
  latency: number,
): number {
  const waiting = open.map((pages): Chain => ({ left: Math.max(1, Math.round(pages)), answered: 0 }));
  const asked: Chain[] = [];
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
    // All take equally long: who asked first is answered first.
    while (asked[0] !== undefined && asked[0].answered <= now) {
      const chain = asked.shift();
      if (chain !== undefined && chain.left > 0) waiting.push(chain);
    }
    openMore();
  }
}
