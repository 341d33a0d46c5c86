import { Readable } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import { deltaStatistics } from '../../core/columns/statistics.js';
import type { Committed, Lake, SliceCommit, SliceFile, Split } from '../../lake/lake.js';
import { parquetFile } from '../../core/parquet/wasm.js';
import { fileMetadata } from '../../lake/files/new-file.js';
import type { Batch, Collector, Pipeline, Reading } from './pipeline.js';
import type { Slice } from './slice.js';
import type { Progress } from './work.js';

/** What became of one slice. */
export interface SliceResult extends Committed {
  /** Rows read, by table. */
  readonly rows: ReadonlyMap<string, number>;
  readonly collector: Collector<unknown>;
}

export interface SliceOptions {
  readonly lake: Lake;
  readonly refresh: boolean;
  readonly split: Split | undefined;
  /** Whether a slice that came back empty takes the place of imported rows. */
  readonly acceptsEmpty?: boolean | undefined;
  /** Told after each page, and once more when there are no more. */
  readonly progressed: (progress: Progress) => void;
}

/**
 * The inner river: one slice's pages become events, the events record batches once the slice is whole, as rows are
 * sorted over all of its pages, the batches Parquet files, and the files one commit. Every stage pulls from the one
 * before, so that nothing is read ahead of what can be taken.
 *
 * @throws what reading, encoding or committing throws, or the signal's reason; the lake then has nothing of the slice
 */
export async function runSlice<Upstream, S extends Slice>(
  pipeline: Pipeline<Upstream, S>,
  slice: S,
  reading: Reading<Upstream>,
  { lake, refresh, split, acceptsEmpty, progressed }: SliceOptions,
): Promise<SliceResult> {
  const collector = pipeline.collect(slice);
  let pages = 0;
  let results = 0;
  await streamPipeline(
    Readable.from(pipeline.pages(slice, reading), { highWaterMark: 1 }),
    async (of: AsyncIterable<unknown>) => {
      for await (const page of of) {
        pages++;
        results += collector.add(page);
        progressed({ pages, results, reach: collector.reach, isWhole: false });
      }
    },
    { signal: reading.signal },
  );
  progressed({ pages, results, reach: collector.reach, isWhole: true });

  // The slice is whole now, and its requests are spent: told to stop, it is still finished, and never behind the caller's
  // back.
  const rows = new Map<string, number>();
  const whole: SliceFile[] = [];
  await streamPipeline(
    Readable.from(collector.finish(), { highWaterMark: 1 }),
    (batches: AsyncIterable<Batch>) => files(batches, fileMetadata(pipeline.name, reading.account, slice.label), rows),
    async (of: AsyncIterable<SliceFile>) => {
      for await (const file of of) whole.push(file);
    },
  );
  const commit: SliceCommit = {
    pipeline: pipeline.name,
    account: reading.account,
    name: slice.name,
    loadKeys: slice.loadKeys,
    tables: pipeline.tables,
    files: whole,
    refresh: refresh || slice.again === true,
    excludes: slice.excludes,
    splits: slice.splits,
    retires: slice.retires,
    noted: slice.noted,
    acceptsEmpty,
  };
  const committed = await lake.commit(commit, split);
  return { ...committed, rows, collector };
}

async function* files(
  of: AsyncIterable<Batch>,
  metadata: ReadonlyMap<string, string>,
  rows: Map<string, number>,
): AsyncGenerator<SliceFile> {
  for await (const { table, month, rows: batch, tags } of of) {
    rows.set(table.name, (rows.get(table.name) ?? 0) + batch.numRows);
    const bytes = await parquetFile(table, [batch], metadata);
    yield { table, month, bytes, rows: batch.numRows, stats: deltaStatistics(table, batch), tags };
  }
}
