import { cut, dayMs, monthOf, type Window } from '../../core/windows.js';
import { readVerdict } from '../../engine/retry/read-failure.js';
import type { WindowSlice } from '../../engine/slicing/window-slices.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { partedPages } from '../../engine/slicing/parted-windows.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import { defaultPageSize, type CustomConnection, type CustomPage } from './custom-api.js';
import type { Json } from './definition.js';
import { callDefinition, type LoadedDefinition } from './load-definitions.js';
import { recordCollector } from './record-collector.js';

/** A custom pipeline, with the definition that it comes from. */
export interface CustomPipeline extends Definition<unknown, WindowSlice, CustomPage> {
  readonly loaded: LoadedDefinition;
}

const defaultDays = 7;

/** The pipeline of a definition; without a connection it says what there is to do, and reads nothing. */
export function customPipeline(loaded: LoadedDefinition, connection?: CustomConnection): CustomPipeline {
  const { definition, table } = loaded;
  const { name, about, api, windows = {} } = definition;
  const { longestDays, guessPerDay } = windows;
  const { days = Math.min(defaultDays, longestDays ?? defaultDays), probeDays = days } = windows;
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
    tables: [table],
    perPage: pageSize,
    ...windowSlicing({ pipeline: name, table: table.name, ...cutting }),
    pace: () => connection?.pace(name),
    begun: () => connection?.begun(name) ?? [],
    pages: ({ window }, reading) => {
      if (connection === undefined) throw new Error(`${name} is not connected`);
      const pages = (of: Window) => connection.pages({ operation: name, window: of, account: reading.account }, reading);
      // A loaded window that is read again may be from a time when longer ones were asked for.
      const isLong = longestDays !== undefined && window.end - window.start > longestDays * dayMs;
      return isLong ? partedPages(cut(window, longestDays), judge, pages) : pages(window);
    },
    collect: ({ window }) => {
      const rows = (record: Json) => callDefinition(loaded.file, 'rows', () => definition.rows(record));
      return recordCollector({ file: loaded.file, table, month: monthOf(window.start), rows }, window);
    },
    judge,
  };
}

/** Whether a pipeline is a custom one. */
export function isCustom(pipeline: object): pipeline is CustomPipeline {
  return 'loaded' in pipeline;
}
