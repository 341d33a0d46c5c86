import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import { usageError } from '../../core/errors.js';
import type { FinancesUpstream } from '../../sources/finances/api-v0/upstream.js';
import { isOwn, type OwnPipeline } from '../../sources/custom/own-pipeline.js';
import type { Pipeline } from '../../engine/run/pipeline.js';

/** What a backfill loads when no pipeline is named. */
const defaultSet: readonly Pipeline<FinancesUpstream>[] = [financialEventGroups, financialEvents, groupEventsPipeline];

/** Every pipeline of this package. */
export const pipelines: readonly Pipeline<FinancesUpstream>[] = [...defaultSet, orderEventsPipeline];

/**
 * The pipelines of the given names, each once, or the default set where there is none; `own` are those of `--pipelines`.
 *
 * @throws LedgerlakeError USAGE for an unknown name, and where order ids and the pipeline that reads them don't meet
 */
export function choosePipelines(
  names: readonly string[],
  hasOrders: boolean,
  own: readonly OwnPipeline[] = [],
): readonly Pipeline<FinancesUpstream>[] {
  const all: readonly Pipeline<FinancesUpstream>[] = [...pipelines, ...own];
  const chosen = names.map((name) => {
    const pipeline = all.find((candidate) => candidate.name === name);
    if (pipeline === undefined) {
      const known = all.map((candidate) => candidate.name).join(', ');
      throw usageError(`expected a pipeline (${known}), got ${JSON.stringify(name)}`);
    }
    return pipeline;
  });
  const readsOrders = chosen.includes(orderEventsPipeline);
  if (readsOrders && !hasOrders) {
    throw usageError(
      `expected --orders FILE for the pipeline ${orderEventsPipeline.name}: which orders shall it read?`,
    );
  }
  if (hasOrders && !readsOrders) {
    throw usageError(`expected the pipeline ${orderEventsPipeline.name} beside --orders: name it in the command`);
  }
  return chosen.length === 0 ? defaultSet : [...new Set(chosen)];
}

/** Whether nothing of the finances is asked for, but users' own pipelines are. */
export function areOwn(chosen: readonly Pipeline<FinancesUpstream>[]): boolean {
  return chosen.length > 0 && chosen.every(isOwn);
}

/** Those that a run starts: each after what it needs. */
export function withNeeds(pipelines: readonly Pipeline<FinancesUpstream>[]): Pipeline<FinancesUpstream>[] {
  const all = new Set<Pipeline<FinancesUpstream>>();
  for (const pipeline of pipelines) {
    for (const needed of withNeeds(pipeline.needs ?? [])) all.add(needed);
    all.add(pipeline);
  }
  return [...all];
}
