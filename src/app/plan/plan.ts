import { jobValues } from '../../engine/run/load-options.js';
import { tablesOf } from '../../core/columns/table.js';
import type { Clock } from '../../core/clock.js';
import type {
  BackfillJob,
  Collector,
  Job,
  Probe,
  ProbedPage,
  Reading,
  RequestCounts,
} from '../../engine/run/pipeline.js';
import { dayMs, dayStart, type Window } from '../../core/windows.js';
import { windowSlice } from '../../engine/slicing/window-slices.js';
import { pageSize } from '../../engine/run/slice-queue.js';
import { halvesOf } from '../../engine/slicing/bisected-windows.js';
import type { FinancesPipeline, FinancesUpstream } from '../../sources/finances/connect-finances.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { Lake } from '../../lake/lake.js';
import { refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { refuseMixing } from '../configuration/account.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import { emitDamage, type ReadingContext } from '../context.js';
import { writeText } from '../../core/text/sink.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import { sliceVerdict } from '../../engine/retry/read-failure.js';
import { isCustom } from '../../sources/custom/custom-pipeline.js';
import type { PathBelow } from '../../core/io/links.js';
import { openPersistedQuota } from '../../engine/page-journal/persisted-quota.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import { customAddress, openUpstream, quotaName } from '../load/connections.js';
import { readLoadRequest, type LoadRequest } from '../load/load-request.js';
import type { LoadOptions } from '../load/run-settings.js';
import { quotaFile } from '../load/state-folder.js';
import { estimate, type OperationQuota } from './estimate.js';
import { planColumns, planObject, planRows, planSummary, planText, type PlanOutput } from './plan-output.js';
import type { CommandScope } from '../command-text.js';
import { pipelineNamed } from '../../../pipelines/all-pipelines.js';
import { defaultApi } from '../../sources/finances/api-names.js';
import { burstOf } from '../../sources/finances/finances-apis.js';
import { firstPages, pagesJson, writePages, type FirstPage as ShownPage } from '../load/first-page.js';

export interface PlanOptions extends LoadOptions {
  readonly format: Format;
  /** Write one JSON object in the shape of a backfill's summary (`planSummary`), regardless of the format. */
  readonly json?: boolean;
  /** Request the first page of each custom pipeline, and show its rows. */
  readonly showsFirstPages?: boolean;
  /** Options of the command line, for printed commands. */
  readonly explicit?: Pick<CommandScope, 'config' | 'endpoint'>;
}

/**
 * `ledgerlake plan` and `ledgerlake backfill --dry-run`: prints what a backfill would do. It reads the lake and changes nothing. It
 * sends requests only for `--probe`, and for the first page of custom pipelines where that is shown.
 *
 * `table` is for people. `json` is one object, whose `pipelines` have the fields of `planColumns`; `csv` and `ndjson` have a row for
 * each, with `account` too. Unknown values are null. Where `known` is false, `slices`, `requests` and `seconds` are minimums.
 *
 * @throws LedgerlakeError USAGE for options that a backfill refuses, LAKE_STORE and LAKE_LOG where the lake can't be read, and the
 * failure of a probe
 */
export async function plan(options: PlanOptions, context: ReadingContext): Promise<void> {
  const { clock, signal } = context;
  const { emit } = context;
  const request = readLoadRequest('plan', options, clock.now());
  const { account, pipelines, custom, isCustomOnly, range } = request;
  const lake = await openPlannedLake(request, clock);
  emitDamage(lake, emit);
  refuseMixing(account, lake.snapshot.accounts(), options.lake);
  const job: BackfillJob = { ...jobValues(options), kind: 'backfill', account, range, lake };
  let probed = nothingProbed;
  if (options.probe === true && !isCustomOnly) {
    const connection = await openUpstream({ ...options, createsState: false }, account, { clock, emit });
    probed = await sendProbes(withNeeds(pipelines), connection.upstream, job, signal).finally(() => connection.close());
  }
  const quotas = await quotasOf(request);
  const { pages: probedPages, latencies } = probed;
  const planned = await estimate({ job, pipelines, quotas, clock, probed: probedPages, latencies, signal });
  const report: PlanOutput = {
    ...planned,
    lake: options.lake,
    account,
    range,
    asked: {
      pipelines: options.pipelines,
      pipelineFolder: options.pipelineFolder,
      config: options.explicit?.config,
      endpoint: options.explicit?.endpoint,
      api: options.pipelines.length > 0 || options.api === defaultApi ? undefined : options.api,
    },
    showsFirstPages: options.showsFirstPages === true,
    probed: options.probe === true ? probed.requests : undefined,
    empty: new Map([...probedPages].flatMap(([name, { empty }]) => (empty.length > 0 ? [[name, empty]] : []))),
  };
  const isShown = options.showsFirstPages === true && custom.length > 0;
  const pages = isShown ? await firstPages(request, { clock, signal }, emit) : [];
  await writePlan(report, pages, options, context.output);
}

async function openPlannedLake({ options: { lake }, custom }: LoadRequest, clock: Clock): Promise<Lake> {
  const store = openStore(lake, { clock });
  await refuseFile(lake);
  const opened = await Lake.open(store, [...tables, ...custom.flatMap(tablesOf)], clock);
  for (const { loaded } of custom) refuseChanged(loaded, opened.described, lake);
  return opened;
}

/** The quotas of pipelines at the start of a run; none for a pipeline that isn't throttled. */
async function quotasOf({
  account,
  pipelines,
  options,
}: LoadRequest): Promise<ReadonlyMap<FinancesPipeline, OperationQuota>> {
  const { endpoint, rate, burst } = options;
  // Nothing is written to it here.
  const keptIn = (file: PathBelow) => openPersistedQuota(file, () => undefined);
  const isPaced = endpoint !== undefined && isWorthPacing(rate);
  const kept = isPaced ? await keptIn(quotaFile(options, account, endpoint)) : undefined;
  const quotas = new Map<FinancesPipeline, OperationQuota>();
  for (const pipeline of withNeeds(pipelines)) {
    if (isCustom(pipeline)) {
      const { name, api } = pipeline.loaded.definition;
      if (api.quota === undefined) continue;
      const quota = quotaName(name, customAddress(pipeline, account, options));
      const level = await keptIn(quotaFile(options, account, quota));
      quotas.set(pipeline, { ...api.quota, isPaced: isWorthPacing(api.quota.rate), state: level.stateOf(name) });
    } else if (endpoint !== undefined) {
      const state = kept?.stateOf(pipeline.operation);
      quotas.set(pipeline, { rate, burst: burst ?? burstOf(pipeline.operation), isPaced, state });
    }
  }
  return quotas;
}

async function writePlan(
  report: PlanOutput,
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

/** Maximum number of probed windows of a pipeline. */
const mostProbes = 3;

/** The results of probes. */
interface PlanProbes {
  readonly requests: number;
  /** The probed pages, by pipeline. */
  readonly pages: ReadonlyMap<string, ProbedPage>;
  /** Seconds from a request to its whole answer, by pipeline. */
  readonly latencies: ReadonlyMap<string, number>;
}

const nothingProbed: PlanProbes = { requests: 0, pages: new Map(), latencies: new Map() };

/**
 * Requests the first page of each pipeline's probe window, and keeps only its density, by which slices are cut. Where it is empty, it
 * requests windows nearer to the end of the range, as the business may have started later.
 *
 * @throws the failure of a request
 */
async function sendProbes(
  pipelines: readonly FinancesPipeline[],
  upstream: FinancesUpstream,
  job: Job,
  signal: AbortSignal,
): Promise<PlanProbes> {
  const counts: RequestCounts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const pages = new Map<string, ProbedPage>();
  const latencies = new Map<string, number>();
  for (const probe of pipelines.flatMap(({ slicing }) => slicing.probes?.(job) ?? [])) {
    const pipeline = pipelineNamed(probe.pipeline);
    if (pipeline === undefined || pages.has(pipeline.name)) continue;
    const { name, operation } = pipeline;
    pages.set(
      name,
      await firstFilledPage({ ...probe, pipeline }, { upstream, account: job.account, counts, priority: 0, signal }),
    );
    const latency = pipeline.client(upstream)?.pace(operation)?.latency;
    if (latency !== undefined) latencies.set(name, latency);
  }
  return { requests: counts.requests, pages, latencies };
}

/** A probe with the pipeline that reads it. */
interface PipelineProbe extends Omit<Probe, 'pipeline'> {
  readonly pipeline: FinancesPipeline;
}

type ProbeReading = Omit<Reading<FinancesUpstream>, 'committed' | 'emit'>;

/** The first page of a window, or where it is empty of a later one. */
async function firstFilledPage(probe: PipelineProbe, reading: ProbeReading): Promise<ProbedPage> {
  const { gap } = probe;
  const { end } = gap;
  const { pipeline } = probe;
  const empty: Window[] = [];
  for (let { window } = probe; ;) {
    let read: DatedPage;
    try {
      read = await firstPage({ ...probe, window }, reading);
    } catch (error) {
      // A backfill reads such a window as shorter ones.
      const [half] = halvesOf(window, sliceVerdict(pipeline, error));
      if (half === undefined || reading.signal.aborted) throw error;
      window = half;
      continue;
    }
    const { first, ...page } = read;
    const lateStart = lateStartOf(window, first, page.reach);
    if (page.results > 0 && lateStart === undefined) return { ...page, window, gap, empty };
    empty.push({ start: window.start, end: lateStart ?? window.end });
    if (lateStart !== undefined) return { ...page, window: { start: lateStart, end: window.end }, gap, empty };
    // The second window is halfway to the end, the third at the end; windows don't overlap.
    const length = window.end - window.start;
    const wanted = empty.length === 1 ? dayStart((window.start + end) / 2) : end - length;
    const start = Math.max(window.end, wanted);
    if (start >= end || empty.length === mostProbes) return { ...page, window, gap, empty };
    window = { start, end: Math.min(end, start + length) };
  }
}

/** The day on which a window's results start, if the time before it is longer than the span of the page. */
function lateStartOf({ start }: Window, first: number | undefined, reach: number | undefined): number | undefined {
  if (first === undefined || reach === undefined) return undefined;
  return first - start > Math.max(dayMs, reach - first) ? dayStart(first) : undefined;
}

/** A page, and the earliest date on it. */
type DatedPage = Omit<ProbedPage, 'empty' | 'window' | 'gap'> & Pick<Collector<unknown>, 'first'>;

async function firstPage(
  { pipeline, window, perPage = pageSize }: PipelineProbe,
  reading: ProbeReading,
): Promise<DatedPage> {
  const slice = windowSlice(window);
  const afterwards: (() => Promise<void>)[] = [];
  const committed = (then: () => Promise<void>) => afterwards.push(then);
  const collector = pipeline.collect(slice);
  let results = 0;
  for await (const page of pipeline.pages(slice, { ...reading, committed, emit: () => undefined })) {
    results = collector.add(page);
    break;
  }
  for (const then of afterwards) await then();
  const isWhole = results < perPage;
  return { results, isWhole, reach: collector.reach, first: collector.first, batches: collector.finish() };
}
