import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { financialEventGroups } from './financial-event-groups.js';
import { financialEvents } from './financial-events.js';
import { groupEventsPipeline } from './group-events.js';
import { orderEventsPipeline } from './order-events.js';

/** What a command loads where no pipeline is named. */
export const defaultPipelines: readonly FinancesPipeline[] = [
  financialEventGroups,
  financialEvents,
  groupEventsPipeline,
];

/** Every pipeline of this package: a new one is a definition beside these and its name here. */
export const pipelines: readonly FinancesPipeline[] = [...defaultPipelines, orderEventsPipeline];

/** The pipeline of a name; undefined for one that users define. */
export function pipelineNamed(name: string): FinancesPipeline | undefined {
  return pipelines.find((pipeline) => pipeline.name === name);
}
