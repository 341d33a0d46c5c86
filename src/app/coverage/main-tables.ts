import { tableFillers } from '../../../pipelines/all-pipelines.js';
import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { settlementSummariesPipeline } from '../../../pipelines/settlement-summaries.js';
import { transactionsPipeline } from '../../../pipelines/transactions.js';
import type { PipelineTables, Table } from '../../core/columns/table.js';
import type { Coverage } from '../../engine/slicing/slicing.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import type { Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';

/** A main table, the pipeline that fills it, and the kind of its load keys. */
export interface PipelineTable {
  readonly table: string;
  readonly pipeline: string;
  /** The table with its amounts; undefined for `groups`, whose amounts are columns. */
  readonly entries: string | undefined;
  /** `window`, `group`, `order`. */
  readonly loadKey: string;
  readonly isCustom?: true;
  /** Returns which days of a range are loaded; left out where slices have no dates. */
  readonly coverage?: (lake: Lake, account: string, range: Window) => Coverage;
}

type TableFiller = PipelineTables & Pick<FinancesPipeline, 'loadKey' | 'coverage'>;

function tableOf({ name, main, derived, loadKey, coverage }: TableFiller): PipelineTable {
  const entries = derived.find(({ linesOf }) => linesOf === undefined)?.name;
  return { table: main.name, pipeline: name, entries, loadKey, ...(coverage && { coverage }) };
}

/** The tables of this program whose commits make a slice count. */
const mainTables: readonly PipelineTable[] = tableFillers.map((filler: TableFiller) => tableOf(filler));

/** The entry of `mainTables`, so that tables can be compared by identity. */
function builtIn(pipeline: FinancesPipeline): PipelineTable {
  return mainTables.find(({ pipeline: name }) => name === pipeline.name) ?? tableOf(pipeline);
}

export const listing = builtIn(financialEventGroups);
export const byDate = builtIn(financialEvents);
export const byGroup = builtIn(groupEventsPipeline);
export const byTransaction = builtIn(transactionsPipeline);
export const summaries = builtIn(settlementSummariesPipeline);

/** Describes a main table; undefined for a derived table. */
export function pipelineTable({ name, customPipeline, linesOf }: Table): PipelineTable | undefined {
  if (linesOf !== undefined) return undefined;
  if (customPipeline === undefined) return mainTables.find(({ table }) => table === name);
  const { loadKey, coverage } = windowSlicing({ pipeline: customPipeline, table: name, gridDays: 1, probeDays: 1 });
  const described = { table: name, pipeline: customPipeline, entries: undefined, loadKey, isCustom: true as const };
  return { ...described, ...(coverage && { coverage }) };
}

/** The main tables of a lake: those of the built-in pipelines, and those of custom pipelines that have rows. */
export function mainTablesOf(lake: Lake): readonly PipelineTable[] {
  const custom = lake.tables.filter(({ schema }) => schema.customPipeline !== undefined);
  return [...mainTables, ...custom.flatMap(({ schema }) => pipelineTable(schema) ?? [])];
}
