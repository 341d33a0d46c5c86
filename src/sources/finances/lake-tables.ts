import { column, tablesOf, type PipelineTables, type Table } from '../../core/columns/table.js';
import { financesApis } from './finances-apis.js';
import { filtered, nullable } from './model/columns.js';
import { orderEvents } from './api-v0/event-tables.js';
import { settlementReportTables } from './settlement-reports/report-tables.js';

/** Events that a re-read of a window added or removed. Rows are only appended. */
export const eventHistory: Table = {
  name: 'event_history',
  about: 'One row per event that had vanished, or newly appeared, when a window was read again.',
  columns: [
    column('change', 'text', 'dictionary', '`appeared` or `vanished`.'),
    filtered(column('seen_at', 'instant', 'dictionary', 'When the window was read again.')),
    column('source', 'text', 'dictionary', 'The table that held the event, such as `events` or `transactions`.'),
    ...orderEvents.columns.map((base) =>
      base.name === 'raw'
        ? nullable('raw', 'text', 'plain', "The vanished event's JSON, byte for byte; null for one that appeared.")
        : base,
    ),
    nullable('entries', 'text', 'plain', "The vanished event's entries, as a JSON list; null for one that appeared."),
    nullable(
      'attributes',
      'text',
      'plain',
      "The vanished transaction's columns that this table lacks, as a JSON object; null for events of v0.",
    ),
  ],
  appendOnly: true,
  agedBy: 'effective_at',
};

/** The history's name for `compact`: it belongs to no single pipeline. */
export const historyPipeline: PipelineTables = { name: 'event-history', main: eventHistory, derived: [] };

/** Every table that a pipeline or an import of this package fills. */
export const tables: readonly Table[] = [
  ...financesApis.flatMap((api) => api.tables),
  ...tablesOf(settlementReportTables),
  eventHistory,
];
