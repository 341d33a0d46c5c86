import type { Clock } from '../../core/clock.js';
import type { Collector, Job, Reading, RequestCounts } from '../../engine/run/pipeline.js';
import { dayMs, dayStart, type Window } from '../../core/windows.js';
import { windowSlice } from '../../engine/slicing/window-slices.js';
import { pageSize } from '../../engine/run/slice-queue.js';
import type { Probe, ProbedPage } from '../../engine/slicing/slicing.js';
import type { FinancesPipeline, FinancesUpstream } from '../../sources/finances/connect-finances.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { tablesOfLoadedPipelines, describedTables } from '../../lake/table-descriptions.js';
import { Lake } from '../../lake/lake.js';
import { refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { refuseMixing } from '../configuration/account.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { readRange, type RangeOptions } from '../configuration/range.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import { emitDamagedCheckpoints, type ReadingContext } from '../context.js';
import { plainLog } from '../../observe/log/plain-log.js';
import { writeText } from '../../core/text/sink.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import { isCustom } from '../../sources/custom/custom-pipeline.js';
import { openKeptQuota } from '../../engine/journal/persisted-quota.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import { customAddress, customQuotaFile, openUpstream, type UpstreamOptions } from '../load/connections.js';
import { quotaFile } from '../load/state-folder.js';
import { estimate, type OperationQuota } from './estimate.js';
import { planColumns, planObject, planRows, planSummary, planText, type PlanReport } from './plan-output.js';
import type { CommandScope } from '../command-text.js';
import { readJob, type JobOptions, type LoadJob } from '../load/load-job.js';
import { firstPages, pagesJson, writePages, type FirstPage as ShownPage } from '../load/first-page.js';

export interface PlanOptions extends RangeOptions, UpstreamOptions, JobOptions {
  readonly refresh: boolean;
  /** Ask the service for a page where the lake doesn't show how much there is. */
  readonly probe: boolean;
  readonly format: Format;
  /** Write one JSON object in the shape of a backfill's summary (`planSummary`), whatever the format is. */
  readonly json?: boolean;
  /** Ask for the first page of each custom pipeline, and show its rows. */
  readonly showsFirstPages?: boolean;
  readonly pipelineFolder?: string | undefined;
  /** On the command line, for commands that are printed. */
  readonly explicit?: Pick<CommandScope, 'config' | 'endpoint'>;
}

/**
 * `ledgerlake plan` and `ledgerlake backfill --dry-run`: what a backfill would do. Reads the lake and sends no request,
 * but for those of `--probe`, and for the first page of custom pipelines where it is to be shown; changes nothing.
 *
 * `table` is for people. `json` is one object, whose `pipelines` have the fields of `planColumns`; `csv` and `ndjson` have a row for
 * each, with `account` too. What isn't known is null. Where `known` is false, `slices`, `requests` and `seconds` are the least.
 *
 * @throws LedgerlakeError USAGE for what a backfill would refuse, LAKE_STORE and LAKE_LOG where the lake can't be read,
 * and what the service has against a probe
 */
export async function plan(options: PlanOptions, context: ReadingContext): Promise<void> {
  const { clock, signal } = context;
  const emit = plainLog(context.log);
  const loadJob = readJob(options);
  const { account, pipelines, custom, isCustomOnly, orders, marginMinutes } = loadJob;
  const range = readRange({ ...options, marginMinutes }, clock.now());
  const lake = await openPlannedLake(options, loadJob, clock);
  emitDamagedCheckpoints(lake, emit);
  refuseMixing(account, lake.accounts(), options.lake);
  const job: Job = { account, range, lake, refresh: options.refresh, orders };
  let probed = nothingProbed;
  if (options.probe && !isCustomOnly) {
    const connection = await openUpstream({ ...options, createsState: false }, account, { clock, emit });
    probed = await probe(withNeeds(pipelines), connection.upstream, job, signal).finally(() => connection.close());
  }
  const quotas = await quotasOf(loadJob, options);
  const planned = await estimate({
    job,
    pipelines,
    quotaOf: (pipeline) => quotas.get(pipeline),
    clock,
    probed: probed.pages,
    latencies: probed.latencies,
    signal,
  });
  const report: PlanReport = {
    ...planned,
    lake: options.lake,
    account,
    range,
    asked: {
      ...{ pipelines: options.pipelines, pipelineFolder: options.pipelineFolder },
      ...{ config: options.explicit?.config, endpoint: options.explicit?.endpoint },
      api: options.pipelines.length > 0 || options.api === 'v0' ? undefined : options.api,
    },
    showsFirstPages: options.showsFirstPages === true,
    probed: options.probe ? probed.requests : undefined,
    empty: new Map(
      [...probed.pages].filter(([, { empty }]) => empty.length > 0).map(([name, page]) => [name, page.empty]),
    ),
  };
  const isShown = options.showsFirstPages === true && custom.length > 0;
  const pages = isShown ? await firstPages(options, { clock, signal }, emit) : [];
  await writePlan(report, pages, options, context.output);
}

async function openPlannedLake({ lake }: PlanOptions, { custom }: LoadJob, clock: Clock): Promise<Lake> {
  const store = openStore(lake, { clock });
  await refuseFile(lake);
  const begun = custom.length === 0 ? [] : await tablesOfLoadedPipelines(store, await describedTables(store));
  for (const { loaded } of custom) refuseChanged(loaded, begun, lake);
  return Lake.open(store, [...tables, ...custom.flatMap((pipeline) => pipeline.tables)], clock);
}

/** The quotas of pipelines as a run will find them; none for a pipeline that isn't throttled. */
async function quotasOf(
  { account, pipelines }: LoadJob,
  options: PlanOptions,
): Promise<ReadonlyMap<FinancesPipeline, OperationQuota>> {
  const { endpoint, rate, burst } = options;
  // Nothing is written to it here.
  const keptIn = (file: string) => openKeptQuota(file, () => undefined);
  const isPaced = endpoint !== undefined && isWorthPacing(rate);
  const kept = isPaced ? await keptIn(quotaFile(options, account, endpoint)) : undefined;
  const quotas = new Map<FinancesPipeline, OperationQuota>();
  for (const pipeline of withNeeds(pipelines)) {
    if (isCustom(pipeline)) {
      const { name, api } = pipeline.loaded.definition;
      if (api.quota === undefined) continue;
      const level = await keptIn(customQuotaFile(options, account, name, customAddress(pipeline, account, options)));
      quotas.set(pipeline, { ...api.quota, isPaced: isWorthPacing(api.quota.rate), state: level.stateOf(name) });
    } else if (endpoint !== undefined) {
      const state = kept?.stateOf(pipeline.operation);
      quotas.set(pipeline, { rate, burst: burst ?? pipeline.burst ?? 1, isPaced, state });
    }
  }
  return quotas;
}

async function writePlan(
  report: PlanReport,
  pages: readonly ShownPage[],
  { json: isSummary = false, format }: PlanOptions,
  output: ReadingContext['output'],
): Promise<void> {
  if (isSummary) {
    const text = JSON.stringify(planSummary(report));
    const shown = pages.length === 0 ? text : `${text.slice(0, -1)},"first_pages":${await pagesJson(pages)}}`;
    await writeText(output, [`${shown}\n`]);
  } else if (format === 'table') {
    await writeText(output, [planText(report)]);
    await writePages(pages, output);
  } else if (format === 'json') {
    await writeText(output, [`${JSON.stringify(planObject(report), undefined, 2)}\n`]);
  } else await writeRows(output, format, planColumns, chunksOf(planRows(report)));
}

/** Windows of a pipeline that are asked for at most. */
const mostProbes = 3;

/** What was asked of the service for a plan's sake. */
interface Probed {
  readonly requests: number;
  /** By pipeline. */
  readonly pages: ReadonlyMap<string, ProbedPage>;
  /** Seconds from a request to its whole answer, by pipeline. */
  readonly latencies: ReadonlyMap<string, number>;
}

const nothingProbed: Probed = { requests: 0, pages: new Map(), latencies: new Map() };

/**
 * Asks for the first page of each window that the pipelines name, and forgets it: slices will be cut by what it shows. Where it
 * is empty, windows nearer to the end of the range are asked for: the business may have begun later.
 *
 * @throws what reading throws
 */
async function probe(
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
    pages.set(name, await firstFilled(one, { upstream, account: job.account, counts, priority: 0, signal }));
    const latency = one.pipeline.pace(upstream)?.latency;
    if (latency !== undefined) latencies.set(name, latency);
  }
  return { requests: counts.requests, pages, latencies };
}

type Asking = Omit<Reading<FinancesUpstream>, 'committed' | 'emit'>;

/** The first page of a window, or where it is empty of one further on. */
async function firstFilled(probe: Probe<FinancesUpstream>, asking: Asking): Promise<ProbedPage> {
  const { gap } = probe;
  const { end } = gap;
  const length = probe.window.end - probe.window.start;
  const empty: Window[] = [];
  for (let { window } = probe; ;) {
    const { first, ...page } = await firstPage({ ...probe, window }, asking);
    const begun = lateBeginning(window, first, page.reach);
    if (page.results > 0 && begun === undefined) return { ...page, window, gap, empty };
    empty.push({ start: window.start, end: begun ?? window.end });
    if (begun !== undefined) return { ...page, window: { start: begun, end: window.end }, gap, empty };
    // Halfway to the end, and then the end itself; nothing twice.
    const wanted = empty.length === 1 ? dayStart((window.start + end) / 2) : end - length;
    const start = Math.max(window.end, wanted);
    if (start >= end || empty.length === mostProbes) return { ...page, window, gap, empty };
    window = { start, end: Math.min(end, start + length) };
  }
}

/** The day on which a window's results begin, where it is empty for longer before it than the page lasts. */
function lateBeginning({ start }: Window, first: number | undefined, reach: number | undefined): number | undefined {
  if (first === undefined || reach === undefined) return undefined;
  return first - start > Math.max(dayMs, reach - first) ? dayStart(first) : undefined;
}

/** A page, and the earliest date on it. */
type FirstPage = Omit<ProbedPage, 'empty' | 'window' | 'gap'> & Pick<Collector<unknown>, 'first'>;

async function firstPage({ pipeline, window }: Probe<FinancesUpstream>, reading: Asking): Promise<FirstPage> {
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
  return { results, isWhole, reach: collector.reach, first: collector.first, batches: collector.finish() };
}
