import type { Api } from '../src/sources/finances/selling-partner/apis.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { financialEventGroups } from './financial-event-groups.js';
import { financialEvents } from './financial-events.js';
import { groupEventsPipeline } from './group-events.js';
import { orderEventsPipeline } from './order-events.js';
import { orderTransactionsPipeline } from './order-transactions.js';
import { payoutsPipeline } from './payouts.js';
import { settlementSummariesPipeline } from './settlement-summaries.js';
import { transactionsPipeline } from './transactions.js';

/** What a command loads where no pipeline is named, by API. */
export const defaultPipelines: Readonly<Record<Api, readonly FinancesPipeline[]>> = {
  v0: [financialEventGroups, financialEvents, groupEventsPipeline],
  '2024-06-19': [financialEventGroups, transactionsPipeline],
  both: [financialEventGroups, financialEvents, groupEventsPipeline, transactionsPipeline],
};

/** Every pipeline of this package: a new one is a definition beside these and its name here. */
export const pipelines: readonly FinancesPipeline[] = [
  ...defaultPipelines.both,
  orderEventsPipeline,
  orderTransactionsPipeline,
  settlementSummariesPipeline,
  payoutsPipeline,
];

/** The pipeline of a name; undefined for one that users define. */
export function pipelineNamed(name: string): FinancesPipeline | undefined {
  return pipelines.find((pipeline) => pipeline.name === name);
}
