import type { Slicing } from '../../engine/run/pipeline.js';
import type { Slice } from '../../engine/run/slice-queue.js';
import type { WindowedPipeline } from '../../engine/slicing/window-queue.js';
import type { FinancesPipeline, FinancesUpstream } from './connect-finances.js';
import { apiWith } from './finances-apis.js';

/** What a definition in `pipelines/` states. */
interface FinancesDefinition<S extends Slice, Page, Prepared> extends Omit<
  FinancesPipeline<S, Page, Prepared>,
  'slicing' | 'client'
> {
  /** `of`: the pipeline's name, and that of its main table. */
  readonly slicing: (of: Pick<WindowedPipeline, 'pipeline' | 'table'>) => Slicing<S, Prepared, FinancesUpstream>;
}

/** The pipeline of a definition: the client of its API sends its requests. */
export function financesPipeline<S extends Slice, Page, Prepared>(
  definition: FinancesDefinition<S, Page, Prepared>,
): FinancesPipeline<S, Page, Prepared> {
  const { name, main, operation, slicing } = definition;
  const api = apiWith(operation);
  return {
    ...definition,
    slicing: slicing({ pipeline: name, table: main.name }),
    client: (upstream) => (api === undefined ? upstream.reports : upstream[api.name]),
  };
}
