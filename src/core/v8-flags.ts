import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** What lives in a heap may become so many bytes more, or by `leastPercent`, until it is collected. */
const leastGrowth = 20_000_000;
const leastPercent = 30;

/**
 * Bounds what a heap takes, in a process that is this program's own. Left to itself V8 lets it grow to several times what lives
 * in it: a lake of many files has a log that lives long.
 */
export function boundHeaps(): void {
  useFlags({ [growing]: leastPercent });
}

/**
 * Sets V8 up for seconds of computing, perhaps on threads that each compile the same code: to optimize it took a third of the CPU
 * seconds of an import and of a backfill, to collect small heaps a seventh (docs/performance.md). Call it once what lives long is
 * in memory. In a process that is another program's, which uses the library, it does nothing.
 */
export function tuneForSeconds(): void {
  if (!(growing in flags)) return;
  const percent = Math.ceil((100 * leastGrowth) / getHeapStatistics().used_heap_size);
  useFlags({
    [growing]: Math.max(leastPercent, percent),
    '--always-sparkplug': undefined,
    '--max-inlined-bytecode-size-cumulative': 200,
    // Later versions have a compiler between that one and the optimizing one, and no such flag.
    ...(process.versions.v8.startsWith('11.') && { '--interrupt-budget': 200_000 }),
  });
}

const growing = '--heap-growing-percent';

/** Flags by name, undefined where one has no value. */
type Flags = Readonly<Record<string, number | undefined>>;

/** What is set while no thread is starting. */
let flags: Flags = {};
/** Threads that are starting. */
let starting = 0;

function useFlags(more: Flags): void {
  flags = { ...flags, ...more };
  if (starting > 0) return;
  for (const [name, value] of Object.entries(flags))
    setFlagsFromString(value === undefined ? name : `${name}=${value}`);
}

/**
 * Says that a thread starts, before it does: flags wait until it has. V8 takes Node's own code from a cache only where its flags
 * are as they were when that was built, and else compiles it for each thread, which takes 80 ms.
 *
 * @returns to be called once it has started, or never will
 */
export function threadStarts(): () => void {
  // What sets up the compiler comes once all threads have started, but for those of an input whose size nobody knew.
  if (starting++ === 0 && growing in flags) setFlagsFromString(`${growing}=0`);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    starting--;
    useFlags({});
  };
}
