import { cut, dayMs, monthOf, type Window } from '../../core/windows.js';
import { readVerdict } from '../../engine/retry/read-failure.js';
import type { Collector, Pipeline } from '../../engine/run/pipeline.js';
import type { WindowSlice } from '../../engine/slicing/window-slices.js';
import { bisectedPages } from '../../engine/slicing/bisected-windows.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import type { CustomConnection, CustomPage } from './custom-api.js';
import { defaultPageSize } from './custom-request.js';
import type { Json } from '../records/record.js';
import type { PipelineDefinition } from './definition.js';
import { callDefinition, type LoadedDefinition } from './load-definitions.js';
import { RecordCollector, type RecordPage } from '../records/record-collector.js';

/** A custom pipeline, with its definition. */
export interface CustomPipeline extends Pipeline<unknown, WindowSlice, CustomPage> {
  readonly loaded: LoadedDefinition;
}

const defaultDays = 7;

/** Days of a window without a quota. */
export function windowDays({ windows: { days, longestDays } = {} }: PipelineDefinition): number {
  return Math.min(days ?? defaultDays, longestDays ?? Infinity);
}

/** The pipeline of a definition; without a connection it only plans. */
export function customPipeline(loaded: LoadedDefinition, connection?: CustomConnection): CustomPipeline {
  const { definition, table, lines } = loaded;
  const { name, about, api, windows = {} } = definition;
  const { longestDays, guessPerDay } = windows;
  const days = windowDays(definition);
  const { probeDays = days } = windows;
  const { pageSize = defaultPageSize } = api;
  const cutting = { gridDays: days, probeDays, guessPerDay, longestDays, perPage: pageSize };
  const judge = (error: unknown) =>
    readVerdict(error, { invalid: 'skip', loop: 'skip', 'too-large': 'split', unreadable: 'split' });
  return {
    loaded,
    name,
    about,
    operation: name,
    main: table,
    derived: lines === undefined ? [] : [lines],
    slicing: windowSlicing({ pipeline: name, table: table.name, ...cutting }),
    client: () => connection,
    pages: ({ window }, reading) => {
      if (connection === undefined) throw new Error(`${name} is not connected`);
      const pages = (span: Window) =>
        connection.pages({ operation: name, window: span, account: reading.account }, reading);
      // A loaded window may be longer than the definition allows now.
      const isLong = longestDays !== undefined && window.end - window.start > longestDays * dayMs;
      return isLong ? bisectedPages(cut(window, longestDays), judge, pages) : pages(window);
    },
    collect: ({ window }) => collectorOf(loaded, window),
    judge,
  };
}

/** Collects records, and their lines where the definition has some. */
export function collectorOf(
  { file, definition, table, lines: linesTable }: LoadedDefinition,
  window: Window,
): Collector<RecordPage> {
  const month = monthOf(window.start);
  const withRows = new Set<Json>();
  const recordRows = (record: Json) => {
    const rows = callDefinition(file, 'rows', () => definition.rows(record));
    if (!Array.isArray(rows) || rows.length > 0) withRows.add(record);
    return rows;
  };
  const records = new RecordCollector({ file, table, month, rows: recordRows }, window);
  const { lines: defined } = definition;
  if (defined === undefined || linesTable === undefined) return records;
  const linesOf = (record: Json) =>
    withRows.has(record) ? callDefinition(file, 'lines.rows', () => defined.rows(record)) : [];
  const isRawStored = definition.table.raw !== false;
  const lines = new RecordCollector({ file, table: linesTable, month, rows: linesOf, isRawStored }, window);
  const { oddFields, unfitValues, repeated } = records.warnings;
  return {
    reach: undefined,
    holes: records.holes,
    add: (page) => {
      withRows.clear();
      const results = records.add(page);
      lines.add(page);
      return results;
    },
    finish: () => [...lines.finish(), ...records.finish()],
    get warnings() {
      return {
        ...records.warnings,
        oddFields: new Map([...oddFields, ...lines.warnings.oddFields]),
        unfitValues: new Map([...unfitValues, ...lines.warnings.unfitValues]),
        repeated: new Map([...repeated, ...lines.warnings.repeated]),
      };
    },
  };
}

/** Whether a pipeline is a custom one. */
export function isCustom(pipeline: object): pipeline is CustomPipeline {
  return 'loaded' in pipeline;
}
