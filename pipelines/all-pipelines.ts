import type { Api, ApiName } from '../src/sources/finances/api-names.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { financialEventGroups } from './financial-event-groups.js';
import { financialEvents } from './financial-events.js';
import { groupEventsPipeline } from './group-events.js';
import { orderEventsPipeline } from './order-events.js';
import { orderTransactionsPipeline } from './order-transactions.js';
import { payoutsPipeline } from './payouts.js';
import { settlementReportsPipeline } from './settlement-reports.js';
import { settlementSummariesPipeline } from './settlement-summaries.js';
import { transactionsPipeline } from './transactions.js';

/** The pipelines that commands mean by what their rows are: no command names one itself. */
export const roles = {
  /** The list of settlements, whichever API is read. */
  settlements: financialEventGroups,
  /** Amounts by date, of the API whose amounts by date don't name their settlement. */
  events: financialEvents,
  /** Amounts by date of every API, the oldest first: `apiDays` says which of them figures have of a day. */
  byDate: [financialEvents, transactionsPipeline],
  /** The amounts of each settlement, of the API of `events`. */
  bySettlement: groupEventsPipeline,
  /** A sync without named pipelines runs it where a run has loaded it before, or where the settings ask for it. */
  reports: settlementReportsPipeline,
} as const;

const defaults: Readonly<Record<ApiName, readonly FinancesPipeline[]>> = {
  v0: [roles.settlements, roles.events, roles.bySettlement],
  '2024-06-19': [roles.settlements, transactionsPipeline],
};

/** The pipelines of a command without named pipelines, by API. */
export const defaultPipelines: Readonly<Record<Api, readonly FinancesPipeline[]>> = {
  ...defaults,
  both: [...new Set(Object.values(defaults).flat())],
};

/** All pipelines of this package: a new one is a definition in this folder and its name here. */
export const pipelines: readonly FinancesPipeline[] = [
  ...defaultPipelines.both,
  orderEventsPipeline,
  orderTransactionsPipeline,
  settlementSummariesPipeline,
  payoutsPipeline,
  settlementReportsPipeline,
];

/** The pipeline with a name; undefined for a custom pipeline. */
export function pipelineNamed(name: string): FinancesPipeline | undefined {
  return pipelines.find((pipeline) => pipeline.name === name);
}

/** The pipeline whose main table has a name; undefined for any other table. */
export function pipelineFilling(table: string): FinancesPipeline | undefined {
  return pipelines.find(({ main }) => main.name === table);
}
