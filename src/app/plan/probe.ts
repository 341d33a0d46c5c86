import type { Job, Reading, RequestCounts } from '../../engine/run/pipeline.js';
import { windowSlice } from '../../engine/slicing/window-slices.js';
import { pageSize } from '../../engine/run/slice-queue.js';
import type { Probe, ProbedPage } from '../../engine/slicing/slicing.js';
import type { FinancesPipeline, FinancesUpstream } from '../../sources/finances/api-v0/finances-api.js';

/** What was asked of the service for a plan's sake. */
export interface Probed {
  readonly requests: number;
  /** By pipeline. */
  readonly pages: ReadonlyMap<string, ProbedPage>;
  /** Seconds from a request to its whole answer, by pipeline. */
  readonly latencies: ReadonlyMap<string, number>;
}

export const nothingProbed: Probed = { requests: 0, pages: new Map(), latencies: new Map() };

/**
 * Asks for the first page of each window that the pipelines name, and forgets it: slices will be cut by what it tells.
 *
 * @throws what reading throws
 */
export async function probe(
  pipelines: readonly FinancesPipeline[],
  upstream: FinancesUpstream,
  job: Job,
  signal: AbortSignal,
): Promise<Probed> {
  const counts: RequestCounts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const pages = new Map<string, ProbedPage>();
  const latencies = new Map<string, number>();
  for (const one of pipelines.flatMap((pipeline) => pipeline.probes?.(job) ?? [])) {
    const { name } = one.pipeline;
    if (pages.has(name)) continue;
    pages.set(name, await firstPage(one, { upstream, account: job.account, counts, priority: 0, signal }));
    const latency = one.pipeline.pace(upstream)?.latency;
    if (latency !== undefined) latencies.set(name, latency);
  }
  return { requests: counts.requests, pages, latencies };
}

async function firstPage(
  { pipeline, window }: Probe<FinancesUpstream>,
  reading: Omit<Reading<FinancesUpstream>, 'committed' | 'emit'>,
): Promise<ProbedPage> {
  const slice = windowSlice(window);
  const afterwards: (() => Promise<void>)[] = [];
  const committed = (then: () => Promise<void>): void => {
    afterwards.push(then);
  };
  const collector = pipeline.collect(slice);
  let results = 0;
  for await (const page of pipeline.pages(slice, { ...reading, committed, emit: () => undefined })) {
    results = collector.add(page);
    break;
  }
  for (const then of afterwards) await then();
  const isWhole = results < (pipeline.perPage ?? pageSize);
  return { window, results, isWhole, reach: collector.reach, batches: collector.finish() };
}
