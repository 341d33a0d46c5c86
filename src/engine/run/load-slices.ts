import { fileMetadata, newFile } from '../../lake/files/new-file.js';
import { Readable, Transform } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import type { Clock } from '../../core/clock.js';
import { count } from '../../core/count.js';
import { messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import type { NewFile } from '../../lake/commit-files.js';
import { SliceWriter, type CommittedSlice, type Revisions } from '../../lake/slices/slice-writer.js';
import { oversizedPages } from './concurrency-plan.js';
import { failureKindOf, OversizedSlice, outcomeOf } from './failed-slice.js';
import { addSlice, type PipelineCounts, type SliceFigures } from './pipeline-counts.js';
import type { Batch, Collector, Job, Pipeline, Reading, SlicePart } from './pipeline.js';
import { Scheduler, type OpenSlice } from './scheduler.js';
import { holesByKey, refusalHole, type SliceHole } from './slice-holes.js';
import type { Slice, SliceQueue } from './slice-queue.js';

export interface PipelineRunOptions<Upstream> {
  readonly job: Job;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Once it aborts no further slice is opened; the open ones are completed. */
  readonly closing?: AbortSignal | undefined;
  readonly emit: Emit;
  /** Open slices of one pipeline without a quota. */
  readonly openSlices: number;
  readonly revisions: Revisions;
}

/** One pass over the slices of a pipeline: the state shared by its stages. */
interface Pass<Upstream> extends PipelineRunOptions<Upstream> {
  readonly pipeline: Pipeline<Upstream>;
  readonly queue: SliceQueue;
  readonly scheduler: Scheduler<Slice>;
  readonly writer: SliceWriter;
  readonly summary: PipelineCounts;
  /** What each slice has added to the summary, by name: a second read replaces it. */
  readonly counted: Map<string, Pick<SliceFigures, 'rows' | 'warnings'>>;
  /** Whether each slice that was read is committed. */
  isWhole: boolean;
}

/**
 * The stages of a pass: slices are opened one by one as the quota allows, several are read and encoded concurrently, and
 * complete ones are committed as they are complete: those that are ready while another commit is on its way become one commit. An
 * open slice occupies its slot until it is committed, so that the concurrency plan limits memory too.
 *
 * After an abort complete slices are still committed, before this function returns. So the signal goes to the scheduler and to
 * the reading, and the failure of a slice never fails a stream.
 *
 * @returns whether each slice that was read is committed. If not, the caller plans again, because the lake may still lack days of one:
 * another run has loaded only a part of it meanwhile, or its answer was refused and its window is longer than what is loaded of it.
 * @throws the first failure, or the reason of a signal with slices left, after every open slice has ended
 */
export async function loadSlices<Upstream>(
  pipeline: Pipeline<Upstream>,
  queue: SliceQueue,
  options: PipelineRunOptions<Upstream>,
  summary: PipelineCounts,
): Promise<boolean> {
  const { job, upstream, clock, signal, closing, openSlices, revisions } = options;
  const pace = () => pipeline.client(upstream)?.pace(pipeline.operation);
  const scheduler = new Scheduler({ queue, pace, unpaced: openSlices, clock, signal, closing });
  const writer = new SliceWriter(job.lake, clock, revisions);
  const pass: Pass<Upstream> = {
    ...options,
    pipeline,
    queue,
    scheduler,
    writer,
    summary,
    counted: new Map(),
    isWhole: true,
  };
  await streamPipeline(
    Readable.from(scheduler.slices(), { highWaterMark: 0 }),
    readConcurrently(
      (open) => readSlice(open, pass),
      ({ slice }) => isReread(slice, pass),
    ),
    (slices: AsyncIterable<WholeSlice>) => commitConcurrently(slices, pass),
  );
  if (scheduler.failure !== undefined) throw scheduler.failure as Error;
  return pass.isWhole;
}

/**
 * The last stage: commits slices on arrival. Those behind one that is read again wait for it, because its comparison with the stored
 * rows may show that the answers belong to another account.
 */
async function commitConcurrently<Upstream>(slices: AsyncIterable<WholeSlice>, pass: Pass<Upstream>): Promise<void> {
  const committing: Promise<void>[] = [];
  for await (const slice of slices) {
    const committed = commitSlice(slice, pass);
    // An error of the program is thrown by what awaits it below.
    committed.catch(() => undefined);
    if (slice.isReread) await committed;
    else committing.push(committed);
  }
  await Promise.all(committing);
}

/** Whether a slice is read again, at least partly: its answer is compared with stored rows. */
function isReread<Upstream>(slice: Slice, { pipeline, job }: Pass<Upstream>): boolean {
  const { loadKeys, takesOver = [] } = slice;
  const loaded = job.lake.snapshot.keysOf(job.account, pipeline.name);
  return rereadOf(slice, job) !== undefined && [...loadKeys, ...takesOver].some((loadKey) => loaded.has(loadKey));
}

function rereadOf({ reread }: Slice, { refresh }: Job): Slice['reread'] {
  return reread ?? (refresh === true ? 'complete' : undefined);
}

/**
 * A stage that starts each slice on arrival, and pushes complete ones in order of completion. New slices wait for those that are
 * read again and have started, which may show that the answers belong to another account.
 */
function readConcurrently(
  read: (open: OpenSlice) => Promise<WholeSlice | undefined>,
  isReread: (open: OpenSlice) => boolean,
): Transform {
  const running = new Set<Promise<void>>();
  const rereads = new Set<Promise<void>>();
  return new Transform({
    objectMode: true,
    transform(open: OpenSlice, _encoding, begun) {
      const task = read(open)
        .then(async (whole) => {
          if (!rereads.has(task)) await Promise.all(rereads);
          if (whole !== undefined) this.push(whole);
        })
        .catch((error: unknown) => this.destroy(error as Error))
        .then(() => {
          running.delete(task);
          rereads.delete(task);
        });
      running.add(task);
      if (isReread(open)) rereads.add(task);
      begun();
    },
    flush(done) {
      void Promise.all(running).then(() => {
        done();
      });
    },
  });
}

/** A slice that was read completely and encoded. */
interface WholeSlice {
  readonly open: OpenSlice;
  readonly isReread: boolean;
  /** The files of what is committed: of the slice as a whole, or of each of its parts. */
  readonly parts: ReadonlyMap<SlicePart, readonly NewFile[]>;
  readonly collector: Pick<Collector<unknown>, 'holes' | 'leftOpen'>;
  /** Called after the commit. */
  readonly afterwards: readonly (() => Promise<void>)[];
}

/** Reads a slice, with retries; undefined where it can't be read. */
async function readSlice<Upstream>(open: OpenSlice, pass: Pass<Upstream>): Promise<WholeSlice | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await wholeSlice(open, pass);
    } catch (error) {
      if (!settle(error, open, pass, attempt)) return undefined;
    }
  }
}

/**
 * The stages of a slice: its pages are read under the rate limit; their events become record batches once the slice is complete,
 * as rows are sorted across its pages; each batch becomes a Parquet file. Every stage pulls from the previous one, so that
 * nothing is read ahead. After the last page the signal has no effect, since the requests are spent. A slice that the API refuses
 * for its size has no rows, but a hole.
 *
 * @throws what reading or encoding throws, or an AbortError
 */
async function wholeSlice<Upstream>(open: OpenSlice, pass: Pass<Upstream>): Promise<WholeSlice> {
  const { pipeline, scheduler, upstream, summary, signal, job } = pass;
  const { slice } = open;
  const whole = { open, isReread: isReread(slice, pass) };
  const afterwards: (() => Promise<void>)[] = [];
  const reading: Reading<Upstream> = {
    upstream,
    signal,
    account: job.account,
    counts: summary,
    get priority() {
      return open.priority;
    },
    committed: (then) => afterwards.push(then),
    emit: (event) => {
      pass.emit({ ...eventLabels(slice, pass), ...event });
    },
  };
  const collector = pipeline.collect(slice);
  const files = new Map<SlicePart | undefined, NewFile[]>();
  pass.emit({ event: 'slice-opened', ...eventLabels(slice, pass), pagesLeft: scheduler.pagesLeft });
  const read = streamPipeline(
    Readable.from(pipeline.pages(slice, reading), { signal }),
    (pages: AsyncIterable<unknown>) => flattened(pages, collector, open, pass),
    async (batches: AsyncIterable<Batch>) => {
      for await (const { rows, part, ...batch } of batches) {
        const { label, name, loadKeys } = part ?? slice;
        const { account } = job;
        const encoded = await encodeFile({ table: batch.table, rows }, fileMetadata(pipeline.name, account, label));
        const shared = { pipeline: pipeline.name, account };
        const file = await newFile(encoded, { ...batch, account, name, loadKeys, shared, dataChange: true });
        files.set(part, [...(files.get(part) ?? []), file]);
      }
    },
  );
  try {
    await read;
  } catch (error) {
    const hole = signal.aborted ? undefined : refusalHole(error);
    if (hole === undefined) throw error;
    return { ...whole, parts: partsOf(slice, new Map(), { warnings: {} }), collector: { holes: [hole] }, afterwards };
  }
  return { ...whole, parts: partsOf(slice, files, collector), collector, afterwards };
}

/** Pages after which an oversized slice is no longer abandoned. */
const firstPages = 3;

/** Collects the pages, then yields the rows of all of them. */
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
    if (isOversized && queue.recut?.(slice) === true) throw new OversizedSlice();
  }
  open.learn({ ...read, reach: collector.reach, isWhole: true });
  yield* collector.finish();
}

/** What is committed of a slice. One whose parts are all left out has no load key. */
function partsOf(
  slice: Slice,
  files: ReadonlyMap<SlicePart | undefined, readonly NewFile[]>,
  { warnings }: Pick<Collector<unknown>, 'warnings'>,
): WholeSlice['parts'] {
  const parts = new Map([...files].flatMap(([part, own]) => (part === undefined ? [] : [[part, own] as const])));
  if (parts.size > 0 || slice.loadKeys.length === 0) return parts;
  return new Map([[{ ...slice, warnings }, files.get(undefined) ?? []]]);
}

/** Frees the slot of a slice. */
function close<Upstream>(open: OpenSlice, pass: Pass<Upstream>): void {
  open.close();
  pass.emit({ event: 'slice-closed', ...eventLabels(open.slice, pass) });
}

/** Commits a slice and counts it. Never rejects: a failure is settled in the pass. */
async function commitSlice<Upstream>(whole: WholeSlice, pass: Pass<Upstream>): Promise<void> {
  const { pipeline, summary } = pass;
  const { open, parts, collector, afterwards } = whole;
  const { slice } = open;
  const holes = new Map(collector.holes.map((hole) => [holePlace(hole, slice), 1]));
  try {
    for (const [part, files] of parts)
      countCommit(part, files, await commitPart(part, files, whole, pass), holes, pass);
    for (const then of afterwards) await then();
    for (const place of holes.keys()) pass.emit({ event: 'hole-left', pipeline: pipeline.name, place });
    for (const { label, reason } of collector.leftOpen ?? []) {
      summary.leftOpen.push({ label, reason, isAlone: true });
      const outcome = { verdict: 'skip', cause: null, reason } as const;
      pass.emit({ event: 'slice-failed', pipeline: pipeline.name, slice: label, ...outcome });
    }
    close(open, pass);
  } catch (error) {
    settle(error, open, pass, Infinity);
  }
}

function commitPart<Upstream>(
  part: SlicePart,
  files: readonly NewFile[],
  { collector }: WholeSlice,
  { pipeline, job, writer }: Pass<Upstream>,
): Promise<CommittedSlice> {
  return writer.commit({
    pipeline: pipeline.name,
    account: job.account,
    main: pipeline.main,
    derived: pipeline.derived,
    files,
    ...part,
    reread: rereadOf(part, job),
    acceptEmpty: job.acceptEmpty,
    holes: holesByKey(collector.holes, part.loadKeys),
  });
}

function countCommit<Upstream>(
  { name, label, warnings: found }: SlicePart,
  files: readonly NewFile[],
  committed: CommittedSlice,
  holes: ReadonlyMap<string, number>,
  pass: Pass<Upstream>,
): void {
  const { pipeline, queue, summary, counted } = pass;
  const labels = { pipeline: pipeline.name, slice: label };
  if (typeof committed === 'string') {
    pass.isWhole = false;
    // The comparison reports what it refuses.
    if (committed === 'refused') return;
    summary.conflicts++;
    pass.emit({ event: 'slice-conflict', ...labels });
    return;
  }
  const rows = new Map<string, number>();
  for (const file of files) count(rows, file.table.name, file.rows);
  const warnings = { ...found, holes };
  addSlice(summary, { ...committed, rows, warnings }, counted.get(name));
  counted.set(name, { rows, warnings });
  pass.emit({ event: 'slice-committed', ...labels, rows: Object.fromEntries(rows), ...committed, left: queue.left });
}

/** A hole with its slice, and with its load key where the slice has several. */
function holePlace({ loadKey, place }: SliceHole, { label, loadKeys }: Slice): string {
  return [label, ...(loadKeys.length > 1 && loadKey !== undefined ? [loadKey] : []), place].join(', ');
}

/**
 * Does what is decided about a failed slice: with `retry` it stays open; otherwise it is closed, and split, left open for the next
 * run, or the end of the pass.
 *
 * @returns whether it is read again now
 */
function settle<Upstream>(error: unknown, open: OpenSlice, pass: Pass<Upstream>, attempt: number): boolean {
  const { slice } = open;
  const { verdict, isAlone, error: failure } = outcomeOf(error, slice, attempt, pass);
  if (verdict === 'abort') pass.scheduler.fail(failure);
  else {
    const reason = messageOf(error);
    if (verdict === 'skip') pass.summary.leftOpen.push({ label: slice.label, reason, isAlone });
    pass.emit({ event: 'slice-failed', ...eventLabels(slice, pass), verdict, cause: failureKindOf(error), reason });
  }
  if (verdict !== 'retry') close(open, pass);
  return verdict === 'retry';
}

function eventLabels<Upstream>(slice: Slice, { pipeline }: Pass<Upstream>): { pipeline: string; slice: string } {
  return { pipeline: pipeline.name, slice: slice.label };
}
