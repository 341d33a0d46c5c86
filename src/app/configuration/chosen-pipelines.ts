import { defaultApi, type Api } from '../../sources/finances/api-names.js';
import { defaultPipelines, pipelines } from '../../../pipelines/all-pipelines.js';
import { tablesOf, type PipelineTables } from '../../core/columns/table.js';
import { usageError } from '../../core/errors.js';
import { nearestName } from '../../core/text/fault-line.js';
import { isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { orderIdPattern } from '../../sources/finances/api-v0/operations.js';

/**
 * The pipelines with these names, each once; without names the default ones of an API. `customPipelines` are those of `--pipelines`.
 *
 * @throws LedgerlakeError USAGE for an unknown name, and for order ids without a pipeline that reads them or the reverse
 */
export function choosePipelines(
  names: readonly string[],
  hasOrders: boolean,
  customPipelines: readonly CustomPipeline[] = [],
  api: Api = defaultApi,
): readonly FinancesPipeline[] {
  const all: readonly FinancesPipeline[] = [...pipelines, ...customPipelines];
  const chosen = names.map((name) => {
    const pipeline = all.find((candidate) => candidate.name === name);
    if (pipeline === undefined) {
      throw unknownPipeline(name, all);
    }
    return pipeline;
  });
  const byOrder = pipelines.filter(({ slicing }) => slicing.loadKeyKind === 'order');
  const readsOrders = chosen.find((pipeline) => byOrder.includes(pipeline));
  if (readsOrders !== undefined && !hasOrders) {
    throw usageError(
      `expected --orders FILE for the pipeline ${readsOrders.name}, got none; name a file with the orders to read`,
    );
  }
  if (hasOrders && readsOrders === undefined) {
    const known = byOrder.map(({ name }) => name).join(' or ');
    throw usageError(`expected the pipeline ${known} with --orders, got other pipelines; name it in the command`);
  }
  return chosen.length === 0 ? defaultPipelines[api] : [...new Set(chosen)];
}

/**
 * The error for an unknown pipeline, with a suggestion: an account of that name, a pipeline with a table of that name, or one with a
 * similar name.
 *
 * @param advice where nothing is suggested
 */
export function unknownPipeline(
  name: string,
  known: readonly PipelineTables[],
  accounts: ReadonlySet<string> = new Set(),
  advice = 'for a custom pipeline name its folder with --pipelines',
): Error {
  const names = known.map((pipeline) => pipeline.name);
  const filling = known.find((pipeline) => tablesOf(pipeline).some((table) => table.name === name))?.name;
  const nearest = accounts.has(name) ? `--account ${name}` : (filling ?? nearestName(name, names));
  const hint = nearest === undefined ? advice : `did you mean ${nearest}?`;
  return usageError(`expected a pipeline (${names.join(', ')}), got ${JSON.stringify(name)}; ${hint}`);
}

/** The built-in pipelines that read windows, and the chosen custom pipelines that do. */
export function windowedOf(chosen: readonly FinancesPipeline[]): readonly FinancesPipeline[] {
  return [...pipelines, ...chosen.filter(isCustom)].filter(({ slicing }) => slicing.loadKeyKind === 'window');
}

/** The pipelines of a run: each after the pipelines that it needs. */
export function withNeeds(pipelines: readonly FinancesPipeline[]): FinancesPipeline[] {
  const all = new Set<FinancesPipeline>();
  for (const pipeline of pipelines) {
    for (const needed of withNeeds(pipeline.needs ?? [])) all.add(needed);
    all.add(pipeline);
  }
  return [...all];
}

/**
 * Parses order ids, one on each line, without blank lines and duplicates.
 *
 * @throws LedgerlakeError USAGE with the source and line of an id that isn't 3-7-7 digits, or where there is no id
 */
export function readOrders(text: string, source: string): string[] {
  const orders = new Set<string>();
  for (const [index, line] of text.split('\n').entries()) {
    const order = line.trim();
    if (order === '') continue;
    if (!orderIdPattern.test(order)) {
      throw usageError(
        `expected an order id of 3-7-7 digits such as 902-1845936-5435065 per line, got ${JSON.stringify(order.slice(0, 100))} in ` +
          `${source}, line ${index + 1}; correct or remove it`,
      );
    }
    orders.add(order);
  }
  if (orders.size === 0) throw usageError(`expected order ids, one per line, got none in ${source}`);
  return [...orders];
}
