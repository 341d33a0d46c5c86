import { cut, dayMs, monthOf, type Window } from '../../core/windows.js';
import { readVerdict } from '../../engine/retry/read-failure.js';
import type { Collector } from '../../engine/run/pipeline.js';
import type { WindowSlice } from '../../engine/slicing/window-slices.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { bisectedPages } from '../../engine/slicing/bisected-windows.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import type { CustomConnection, CustomPage } from './custom-api.js';
import { defaultPageSize } from './custom-request.js';
import type { Json, PipelineDefinition } from './definition.js';
import { callDefinition, type LoadedDefinition } from './load-definitions.js';
import { recordCollector, type RecordPage } from './record-collector.js';

/** A custom pipeline, with the definition that it comes from. */
export interface CustomPipeline extends Definition<unknown, WindowSlice, CustomPage> {
  readonly loaded: LoadedDefinition;
}

const defaultDays = 7;

/** Days of a window where there is no quota to save. */
export function windowDays({ windows: { days, longestDays } = {} }: PipelineDefinition): number {
  return Math.min(days ?? defaultDays, longestDays ?? Infinity);
}

/** The pipeline of a definition; without a connection it says what there is to do, and reads nothing. */
export function customPipeline(loaded: LoadedDefinition, connection?: CustomConnection): CustomPipeline {
  const { definition, table, lines } = loaded;
  const { name, about, api, windows = {} } = definition;
  const { longestDays, guessPerDay } = windows;
  const days = windowDays(definition);
  const { probeDays = days } = windows;
  const { pageSize = defaultPageSize } = api;
  const cutting = { gridDays: days, probeDays, guessPerDay, longestDays, perPage: pageSize };
  // What may help a window that would be left open otherwise.
  const judge = (error: unknown) => readVerdict(error, { 'cursor-expired': 'retry', 'too-large': 'split' });
  return {
    loaded,
    name,
    about,
    result: 'record',
    operation: name,
    tables: [...(lines === undefined ? [] : [lines]), table],
    perPage: pageSize,
    ...windowSlicing({ pipeline: name, table: table.name, ...cutting }),
    pace: () => connection?.pace(name),
    begun: () => connection?.begun(name) ?? [],
    pages: ({ window }, reading) => {
      if (connection === undefined) throw new Error(`${name} is not connected`);
      const pages = (span: Window) =>
        connection.pages({ operation: name, window: span, account: reading.account }, reading);
      // A loaded window that is read again may be from a time when longer ones were asked for.
      const isLong = longestDays !== undefined && window.end - window.start > longestDays * dayMs;
      return isLong ? bisectedPages(cut(window, longestDays), judge, pages) : pages(window);
    },
    collect: ({ window }) => collectorOf(loaded, window),
    judge,
  };
}

/** Collects records, and their lines where the definition has some. */
export function collectorOf(
  { file, definition, table, lines }: LoadedDefinition,
  window: Window,
): Collector<RecordPage> {
  const month = monthOf(window.start);
  const withRows = new Set<Json>();
  const rows = (record: Json) => {
    const given = callDefinition(file, 'rows', () => definition.rows(record));
    if (!Array.isArray(given) || given.length > 0) withRows.add(record);
    return given;
  };
  const records = recordCollector({ file, table, month, rows }, window);
  if (definition.lines === undefined || lines === undefined) return records;
  const { lines: defined } = definition;
  const linesOf = (record: Json) =>
    withRows.has(record) ? callDefinition(file, 'lines.rows', () => defined.rows(record)) : [];
  const isKept = definition.table.raw !== false;
  const others = recordCollector({ file, table: lines, month, rows: linesOf, isKept }, window);
  return {
    reach: undefined,
    add: (page) => {
      withRows.clear();
      const results = records.add(page);
      others.add(page);
      return results;
    },
    finish: () => [...others.finish(), ...records.finish()],
    get warnings() {
      const kinds = Object.entries(records.warnings);
      return Object.fromEntries(
        kinds.map(([kind, counts]) => [kind, new Map([...counts, ...(others.warnings[kind] ?? [])])]),
      );
    },
  };
}

/** Whether a pipeline is a custom one. */
export function isCustom(pipeline: object): pipeline is CustomPipeline {
  return 'loaded' in pipeline;
}
