import { monthOf } from '../../core/windows.js';
import { readVerdict } from '../../engine/retry/read-failure.js';
import type { WindowSlice } from '../../engine/slicing/window-slices.js';
import type { Definition } from '../../engine/slicing/slicing.js';
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
  const { days = defaultDays, probeDays = days, guessPerDay } = windows;
  const { pageSize = defaultPageSize } = api;
  const cutting = { gridDays: days, probeDays, guessPerDay, perPage: pageSize };
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
      return connection.pages({ operation: name, window, account: reading.account }, reading);
    },
    collect: ({ window }) => {
      const rows = (record: Json) => callDefinition(loaded.file, 'rows', () => definition.rows(record));
      return recordCollector({ file: loaded.file, table, month: monthOf(window.start), rows }, window);
    },
    // What may help a window that would be left open otherwise.
    judge: (error) => readVerdict(error, { 'cursor-expired': 'retry', 'too-large': 'split' }),
  };
}

/** Whether a pipeline is a custom one. */
export function isCustom(pipeline: object): pipeline is CustomPipeline {
  return 'loaded' in pipeline;
}
