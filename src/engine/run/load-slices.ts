import { Readable, Transform } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import { fileMetadata } from '../../lake/files/new-file.js';
import type { SliceFile, Split } from '../../lake/lake.js';
import { oversizedPages } from './concurrency-plan.js';
import { addSlice, type PipelineSummary, type SliceResult } from './pipeline-summary.js';
import type { Batch, Collector, Job, Pipeline, Reading, Verdict } from './pipeline.js';
import { Scheduler, type OpenSlice } from './scheduler.js';
import type { Slice, SliceQueue } from './slice-queue.js';

export interface RunOptions<Upstream> {
  readonly job: Job;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Once it aborts no further slice is opened, and the open ones are finished. */
  readonly closing?: AbortSignal | undefined;
  readonly emit: Emit;
  /** Slices of one pipeline that are open at once where there is no quota. */
  readonly openSlices: number;
  /** What becomes of a slice that can't be read, by what was thrown. */
  readonly judge: (error: unknown) => Verdict;
  /** Splits files that hold more than what is read again; without it such a refresh fails. */
  readonly split?: Split;
  /** Whether a slice that came back empty replaces imported rows; left out: it doesn't. */
  readonly acceptsEmpty?: boolean;
}

/** One pass over what a pipeline has to load, as all its stages see it. */
interface Pass<Upstream> extends RunOptions<Upstream> {
  readonly pipeline: Pipeline<Upstream>;
  readonly queue: SliceQueue;
  readonly scheduler: Scheduler<Slice>;
  readonly summary: PipelineSummary;
  /** What slices have added to the summary, by name: one that is read twice replaces it. */
  readonly counted: Map<string, Pick<SliceResult, 'rows' | 'warnings'>>;
}

/**
 * The stages of a pass: slices are opened one by one as the quota has room for them, several are read and encoded side by
 * side, and what is whole is committed, one after the other. An open slice keeps its slot until it is in the lake, so that
 * the plan for the quota bounds what is in memory too.
 *
 * Slices end by themselves: told to stop, those that are whole are still committed, and never behind the caller's back. So the
 * signal goes to the scheduler and to the reading, and no failure of a slice is one of a stream.
 *
 * @returns how many slices another run has loaded meanwhile
 * @throws the first failure, or the reason of a signal that left something, once every open slice has come to its end
 */
export async function loadSlices<Upstream>(
  pipeline: Pipeline<Upstream>,
  queue: SliceQueue,
  options: RunOptions<Upstream>,
  summary: PipelineSummary,
): Promise<number> {
  const { upstream, clock, signal, closing, openSlices } = options;
  const pace = () => pipeline.pace(upstream);
  const scheduler = new Scheduler({ queue, pace, unpaced: openSlices, clock, signal, closing });
  const pass: Pass<Upstream> = { ...options, pipeline, queue, scheduler, summary, counted: new Map() };
  let conflicts = 0;
  await streamPipeline(
    Readable.from(scheduler.slices(), { highWaterMark: 0 }),
    sideBySide(
      (open) => readSlice(open, pass),
      ({ slice }) => isReread(slice, pass),
    ),
    async (slices: AsyncIterable<WholeSlice>) => {
      for await (const slice of slices) if ((await commitSlice(slice, pass)) === 'conflict') conflicts++;
    },
  );
  if (scheduler.failure !== undefined) throw scheduler.failure as Error;
  return conflicts;
}

/** Whether the lake holds what a slice reads, or a part of it. */
function isReread<Upstream>({ loadKeys, retires = [] }: Slice, { pipeline, job }: Pass<Upstream>): boolean {
  const main = pipeline.tables.at(-1);
  if (!job.refresh || main === undefined) return false;
  const loaded = job.lake.table(main.name).snapshot.loadKeysOf(job.account, pipeline.name);
  return [...loadKeys, ...retires].some((loadKey) => loaded.has(loadKey));
}

/**
 * A stage that begins each slice as it comes, whatever the others are at, and hands on those that are whole, the first first. What
 * is new waits for what is read again and has begun: that may show that the answers are another account's.
 */
function sideBySide(
  read: (open: OpenSlice) => Promise<WholeSlice | undefined>,
  isReread: (open: OpenSlice) => boolean,
): Transform {
  const running = new Set<Promise<void>>();
  const rereading = new Set<Promise<void>>();
  return new Transform({
    objectMode: true,
    transform(open: OpenSlice, _encoding, begun) {
      const isRepeated = isReread(open);
      const task = read(open)
        .then(async (whole) => {
          if (!isRepeated) await Promise.all(rereading);
          if (whole !== undefined) this.push(whole);
        })
        .catch((error: unknown) => this.destroy(error as Error))
        .then(() => {
          running.delete(task);
          rereading.delete(task);
        });
      running.add(task);
      if (isRepeated) rereading.add(task);
      begun();
    },
    flush(done) {
      void Promise.all(running).then(() => {
        done();
      });
    },
  });
}

/** A slice that was read to its end and encoded. */
interface WholeSlice {
  readonly open: OpenSlice;
  readonly files: readonly SliceFile[];
  /** Rows read, by table. */
  readonly rows: ReadonlyMap<string, number>;
  readonly collector: Collector<unknown>;
  /** To be done once it is in the lake. */
  readonly afterwards: readonly (() => Promise<void>)[];
}

/** Reads a slice, more than once where that helps; undefined where it can't be read. */
async function readSlice<Upstream>(open: OpenSlice, pass: Pass<Upstream>): Promise<WholeSlice | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await wholeSlice(open, pass);
    } catch (error) {
      if (settle(error, open, pass, attempt) !== 'retry') return undefined;
    }
  }
}

/**
 * The stages of a slice: its pages are read under the rate limit, their events become record batches once the slice is whole,
 * as rows are sorted over all of its pages, and each batch a Parquet file. Every stage pulls from the one before, so that
 * nothing is read ahead of what can be taken. Once all pages are there the signal stops nothing any more, for their requests
 * are spent.
 *
 * @throws what reading or encoding throws, or an AbortError
 */
async function wholeSlice<Upstream>(open: OpenSlice, pass: Pass<Upstream>): Promise<WholeSlice> {
  const { pipeline, scheduler, upstream, summary, signal, job } = pass;
  const { slice } = open;
  const afterwards: (() => Promise<void>)[] = [];
  const reading: Reading<Upstream> = {
    ...{ upstream, signal, account: job.account, counts: summary },
    get priority() {
      return open.priority;
    },
    committed: (then) => {
      afterwards.push(then);
    },
    emit: (event) => {
      pass.emit({ ...eventLabels(slice, pass), ...event });
    },
  };
  const collector = pipeline.collect(slice);
  const files: SliceFile[] = [];
  pass.emit({ event: 'slice-opened', ...eventLabels(slice, pass), pagesLeft: scheduler.pagesLeft });
  await streamPipeline(
    Readable.from(pipeline.pages(slice, reading), { signal }),
    (pages: AsyncIterable<unknown>) => flattened(pages, collector, open, pass),
    (batches: AsyncIterable<Batch>) => encoded(batches, fileMetadata(pipeline.name, job.account, slice.label)),
    async (encodedFiles: AsyncIterable<SliceFile>) => {
      for await (const file of encodedFiles) files.push(file);
    },
  );
  const rows = new Map<string, number>();
  for (const { table, rows: count } of files) rows.set(table.name, (rows.get(table.name) ?? 0) + count);
  return { open, files, rows, collector, afterwards };
}

/** Pages of a slice after which it isn't given up any more for holding more than was expected. */
const firstPages = 3;

/** A slice that turns out to be too large for one chain of pages, and is back in the queue. */
class OversizedSlice extends LedgerlakeError {
  constructor() {
    super('STOPPED', 'it has far more results than expected');
  }
}

/** Takes the pages in, and then gives the rows of all of them. */
async function* flattened<Upstream>(
  pages: AsyncIterable<unknown>,
  collector: Collector<unknown>,
  open: OpenSlice,
  pass: Pass<Upstream>,
): AsyncGenerator<Batch> {
  const { queue, scheduler } = pass;
  const { slice } = open;
  const read = { pages: 0, results: 0 };
  for await (const page of pages) {
    const results = collector.add(page);
    read.pages++;
    read.results += results;
    open.learn({ ...read, reach: collector.reach, isWhole: false });
    pass.emit({ event: 'page-read', ...eventLabels(slice, pass), results, pagesLeft: scheduler.pagesLeft });
    const isOversized = read.pages <= firstPages && (queue.expected(slice) ?? 0) > oversizedPages;
    if (isOversized && queue.putBack?.(slice) === true) throw new OversizedSlice();
  }
  open.learn({ ...read, reach: collector.reach, isWhole: true });
  yield* collector.finish();
}

async function* encoded(
  batches: AsyncIterable<Batch>,
  metadata: ReadonlyMap<string, string>,
): AsyncGenerator<SliceFile> {
  for await (const { month, rows, tags } of batches) {
    yield { table: rows.table, month, tags, ...(await encodeFile(rows, metadata)) };
  }
}

/** Commits a slice and counts it; `conflict` where another run has loaded some of it meanwhile. */
async function commitSlice<Upstream>(whole: WholeSlice, pass: Pass<Upstream>): Promise<'done' | 'conflict'> {
  const { pipeline, queue, summary, counted, job, split, acceptsEmpty } = pass;
  const { open, files, rows, collector, afterwards } = whole;
  const { slice } = open;
  const { name, loadKeys, excludes, splits, retires, noted } = slice;
  try {
    const committed = await job.lake.commit(
      {
        ...{ pipeline: pipeline.name, account: job.account, tables: pipeline.tables, files },
        ...{ name, loadKeys, excludes, splits, retires, noted, acceptsEmpty },
        refresh: job.refresh || slice.isReread === true,
      },
      split,
    );
    for (const then of afterwards) await then();
    if (!committed.isCommitted) {
      summary.conflicts++;
      pass.emit({ event: 'slice-conflict', ...eventLabels(slice, pass) });
      return 'conflict';
    }
    const counts = { files: committed.files, bytes: committed.bytes };
    const { warnings } = collector;
    addSlice(summary, { ...counts, rows, warnings }, counted.get(name));
    counted.set(name, { rows, warnings });
    const committedRows = { rows: Object.fromEntries(rows), ...counts, left: queue.left };
    pass.emit({ event: 'slice-committed', ...eventLabels(slice, pass), ...committedRows });
  } catch (error) {
    settle(error, open, pass, Infinity);
  } finally {
    open.close();
  }
  return 'done';
}

/** Times that a slice is read from its beginning. */
const maxReads = 3;

/** Slices that are skipped, without a single page of any, before a failure ends the run. */
const maxSkipped = 4;

/**
 * Settles a slice that failed: one to `retry` stays open, any other is closed, and is back in the queue, skipped, or the end of
 * the pass.
 */
function settle<Upstream>(error: unknown, open: OpenSlice, pass: Pass<Upstream>, attempt: number): Settled {
  const { slice } = open;
  const verdict = verdictOn(error, slice, pass, attempt);
  if (verdict === 'abort') pass.scheduler.fail(isFruitless(pass) ? fruitless(error, slice, pass) : error);
  else {
    const reason = messageOf(error);
    const isAlone = verdict === 'known' || verdict === 'unknown';
    if (isAlone || verdict === 'skip') pass.summary.skipped.push({ label: slice.label, reason, isAlone });
    const shown = verdict === 'unknown' ? 'skip' : verdict;
    pass.emit({ event: 'slice-failed', ...eventLabels(slice, pass), verdict: shown, cause: causeOf(error), reason });
  }
  if (verdict !== 'retry') open.close();
  return verdict;
}

/** Why reading a slice was given up, as a `ReadFailure` has it; null for any other error. */
export function causeOf(error: unknown): string | null {
  return error instanceof LedgerlakeError && 'kind' in error && typeof error.kind === 'string' ? error.kind : null;
}

/** What has become of a slice that failed. */
type Settled = Exclude<Verdict, 'split-to-days'>;

/** What becomes of a slice that failed, given what can be done about it; one that is split is back in the queue. */
function verdictOn<Upstream>(error: unknown, slice: Slice, pass: Pass<Upstream>, attempt: number): Settled {
  const { pipeline, queue, signal, judge } = pass;
  if (error instanceof OversizedSlice) return 'split';
  if (signal.aborted) return 'abort';
  const verdict = pipeline.judge?.(error) ?? judge(error);
  if (verdict === 'abort' || verdict === 'known' || verdict === 'unknown') return verdict;
  if (isFruitless(pass)) return 'abort';
  if (verdict === 'skip') return verdict;
  if (queue.split(slice, verdict === 'retry' ? 'split' : verdict)) return verdict === 'shorten' ? verdict : 'split';
  return verdict === 'retry' && attempt < maxReads ? verdict : 'skip';
}

/** Whether so many slices were skipped before the first page of all that the others are hardly to be read either. */
function isFruitless<Upstream>({ summary }: Pass<Upstream>): boolean {
  return summary.pages === 0 && summary.skipped.filter(({ isAlone }) => !isAlone).length >= maxSkipped;
}

/** Says which slice it is that ends the run, and why that does. */
function fruitless<Upstream>(error: unknown, { label }: Slice, { pipeline, signal }: Pass<Upstream>): unknown {
  if (!(error instanceof LedgerlakeError) || signal.aborted) return error;
  const { code, status, details } = error;
  const message =
    `${pipeline.name} ${label}: ${error.message.replace(/\.?$/, '.')} ${maxSkipped} others failed before it and no page arrived, so ` +
    'the run stops; run it again later';
  return new LedgerlakeError(code, message, {
    cause: error,
    ...(status !== undefined && { status }),
    ...(details !== undefined && { details }),
  });
}

function eventLabels<Upstream>(slice: Slice, { pipeline }: Pass<Upstream>): { pipeline: string; slice: string } {
  return { pipeline: pipeline.name, slice: slice.label };
}
