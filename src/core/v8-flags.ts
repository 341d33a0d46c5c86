import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** What lives in a heap may become so many bytes more, or by `leastPercent`, until it is collected. */
const leastGrowth = 20_000_000;
const leastPercent = 30;

/**
 * Sets V8 up for seconds of computing on threads that each compile the same code: to optimize it took a third of an import's CPU
 * seconds, to collect small heaps a seventh (docs/performance.md). Call it once what lives long is in memory.
 */
export function tuneForSeconds(): void {
  const percent = Math.ceil((100 * leastGrowth) / getHeapStatistics().used_heap_size);
  setFlagsFromString(`--heap-growing-percent=${Math.max(leastPercent, percent)}`);
  setFlagsFromString('--always-sparkplug');
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=200');
  // Later versions have a compiler between that one and the optimizing one, and no such flag.
  if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=200000');
}
