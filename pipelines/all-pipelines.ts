import type { Api, ApiName } from '../src/sources/finances/finances-apis.js';
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

const defaults: Readonly<Record<ApiName, readonly FinancesPipeline[]>> = {
  v0: [financialEventGroups, financialEvents, groupEventsPipeline],
  '2024-06-19': [financialEventGroups, transactionsPipeline],
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
