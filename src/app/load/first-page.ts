import { count } from '../../core/count.js';
import { identifier } from '../../core/duckdb/literals.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import { chunksOf, formatText, writeRows } from '../../core/text/formats.js';
import { formatCount } from '../../core/text/amounts.js';
import type { ResultColumn, ResultRows } from '../../core/text/rows.js';
import { writeText } from '../../core/text/sink.js';
import { cut, type Window } from '../../core/windows.js';
import { windowSlice } from '../../engine/slicing/window-slices.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { connectCustom } from '../../sources/custom/custom-api.js';
import { customPipeline, windowDays, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { ReadingContext } from '../context.js';
import { customAddress } from './connections.js';
import type { LoadRequest } from './load-request.js';

/** The rows of a table that are derived from a page. */
interface PageTable {
  readonly name: string;
  readonly columns: readonly ResultColumn[];
  readonly rows: ResultRows;
}

/** The first page that a backfill would request. */
export interface FirstPage {
  readonly pipeline: string;
  readonly window: Window;
  readonly records: number;
  /** Whether it has a cursor to the next page. */
  readonly hasNext: boolean;
  readonly tables: readonly PageTable[];
  /** How many values don't fit their column and are null, by column. */
  readonly unfit: ReadonlyMap<string, number>;
}

/**
 * Requests the first page of each custom pipeline that a backfill would run, and derives its rows. It opens no lake and keeps
 * nothing.
 *
 * @throws what a backfill throws for its requests, and LedgerlakeError DEFINITION for a definition that fails
 */
export async function firstPages(
  { account, custom, range, options }: LoadRequest,
  { clock, signal }: Pick<ReadingContext, 'clock' | 'signal'>,
  emit: Emit,
): Promise<readonly FirstPage[]> {
  const pages: FirstPage[] = [];
  await withWorkspace(defaultLimits, { localPath: () => undefined }, async (workspace) => {
    for (const pipeline of custom) {
      const { loaded } = pipeline;
      const [window = range] = cut(range, windowDays(loaded.definition));
      const address = customAddress(pipeline, account, options);
      const connection = connectCustom(loaded, { address, clock, random: Math.random, emit, mostMisses: 1 });
      try {
        const counts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
        const nothing = { upstream: undefined, committed: () => undefined, emit: () => undefined };
        const reading = { ...nothing, account, counts, signal, priority: 0 };
        pages.push(await firstPage(customPipeline(loaded, connection), window, reading, workspace));
      } finally {
        await connection.close();
      }
    }
  });
  return pages;
}

async function firstPage(
  pipeline: CustomPipeline,
  window: Window,
  reading: Parameters<CustomPipeline['pages']>[1],
  { database, writeLocal }: Workspace,
): Promise<FirstPage> {
  const slice = windowSlice(window);
  const collector = pipeline.collect(slice);
  let [records, hasNext] = [0, false];
  for await (const page of pipeline.pages(slice, reading)) {
    records = collector.add(page);
    hasNext = page.cursor !== undefined;
    break;
  }
  const tables: PageTable[] = [];
  for (const batch of collector.finish().toReversed()) {
    const { table } = batch;
    const path = await writeLocal((await encodeFile(batch, new Map())).bytes);
    const shown = table.columns.filter(({ nullable }) => nullable).map(({ name }) => identifier(name));
    const { columns, chunks } = await database.query(`SELECT ${shown.join(', ')} FROM ${rowsIn([path])}`);
    const rows = [];
    for await (const chunk of chunks) rows.push(...chunk);
    tables.push({ name: table.name, columns, rows });
  }
  const { oddFields = new Map<string, number>(), unfitValues = new Map<string, number>() } = collector.warnings;
  const unfit = new Map([...oddFields]);
  for (const [column, values] of unfitValues) count(unfit, column, values);
  return { pipeline: pipeline.name, window, records, hasNext, tables, unfit };
}

/** Rows of each table that people are shown. */
const mostShown = 10;

/** Writes pages for people. */
export async function writePages(pages: readonly FirstPage[], output: ReadingContext['output']): Promise<void> {
  for (const { pipeline, window, records, hasNext, tables, unfit } of pages) {
    const span = `${isoInstant(window.start)} to ${isoInstant(window.end)}`;
    const advice = records === 0 ? '; choose a --from that is followed by records to see rows' : '';
    await writeText(output, [
      `\n${pipeline}: the first page of ${span} has ${formatCount(records, 'record')}, ${hasNext ? 'and others follow' : 'and is the only one'}${advice}\n`,
    ]);
    for (const { name, columns, rows } of tables) {
      await writeText(output, [`\n${name}\n`]);
      await writeRows(output, 'table', columns, chunksOf(rows.slice(0, mostShown)));
      const others = rows.length - mostShown;
      if (others > 0) await writeText(output, [`and ${formatCount(others, 'more row')}, which --json has\n`]);
    }
    for (const [column, count] of unfit) {
      await writeText(output, [`${formatCount(count, 'value')} do not fit ${column} and are null there\n`]);
    }
  }
}

/** The same as JSON: numbers with all their digits. */
export async function pagesJson(pages: readonly FirstPage[]): Promise<string> {
  const texts: string[] = [];
  for (const { pipeline, window, records, hasNext, tables, unfit } of pages) {
    const head = { pipeline, from: isoInstant(window.start), to: isoInstant(window.end), records, has_next: hasNext };
    const members: string[] = [];
    for (const { name, columns, rows } of tables) {
      let text = '';
      for await (const piece of formatText('json', columns, chunksOf(rows))) text += piece.replaceAll('\n', '');
      members.push(`${JSON.stringify(name)}:${text}`);
    }
    const fields = JSON.stringify({ ...head, unfit: Object.fromEntries(unfit) }).slice(0, -1);
    texts.push(`${fields},"tables":{${members.join(',')}}}`);
  }
  return `[${texts.join(',')}]`;
}
