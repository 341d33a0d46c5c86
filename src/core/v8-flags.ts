import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** A heap may grow by this many bytes, or by `leastPercent`, before the next collection. */
const leastGrowth = 20_000_000;
const leastPercent = 30;

/**
 * Limits the growth of heaps, in a process of this program. By default V8 lets a heap grow to several times its live
 * data, and the log of a large lake is long-lived.
 */
export function limitHeapGrowth(): void {
  setFlags({ [growing]: leastPercent });
}

/**
 * Tunes V8 for some seconds of computation, perhaps on threads that each compile the same code: optimizing took a third
 * of the CPU time of an import and of a backfill, collecting small heaps a seventh (docs/performance.md). Call it once
 * the long-lived data is in memory. It does nothing in another program that uses the library.
 */
export function tuneForComputation(): void {
  if (!(growing in flags)) return;
  const percent = Math.ceil((100 * leastGrowth) / getHeapStatistics().used_heap_size);
  setFlags({
    [growing]: Math.max(leastPercent, percent),
    '--always-sparkplug': undefined,
    '--max-inlined-bytecode-size-cumulative': 200,
    // Later versions have a mid-tier compiler, and no such flag.
    ...(process.versions.v8.startsWith('11.') && { '--interrupt-budget': 200_000 }),
  });
}

const growing = '--heap-growing-percent';

/** Flags by name; undefined for one without a value. */
type Flags = Readonly<Record<string, number | undefined>>;

/** The flags that are set while no thread is starting. */
let flags: Flags = {};
/** Number of threads that are starting. */
let starting = 0;

function setFlags(more: Flags): void {
  flags = { ...flags, ...more };
  if (starting > 0) return;
  for (const [name, value] of Object.entries(flags))
    setFlagsFromString(value === undefined ? name : `${name}=${value}`);
}

/**
 * Announces that a thread is about to start: flags are set once it has started. V8 loads Node's code from a cache only
 * where its flags are those of the cache's build; otherwise it compiles the code for each thread, which takes 80 ms.
 *
 * @returns a function to call once the thread has started or has failed to
 */
export function announceThreadStart(): () => void {
  // The flags of the compiler are mostly set after all threads have started.
  if (starting++ === 0 && growing in flags) setFlagsFromString(`${growing}=0`);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    starting--;
    setFlags({});
  };
}
