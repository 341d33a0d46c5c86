import type { PagedApi } from '../../../engine/paging/paged-api.js';
import type { PagedClient } from '../../../engine/paging/paged-client.js';
import { DateRecovery } from './cursor-recovery.js';
import { eachResult, readFinancesPage, resultText, type FinancesPage } from './finances-page.js';
import type { LargeGroups } from './large-groups.js';
import { limits, operations, type Operation } from './operations.js';
import { commonApi, type FinancesApiOptions } from '../selling-partner/api-options.js';
import { financesRefusal, type RefusedQuery } from '../selling-partner/refusals.js';
import { pageParameters, requestPath, queriedWindow, type FinancesQuery } from './request-path.js';

/** Page sizes, tried in this order where a page is too large for the service. */
const pageSizes = [limits.pageSize, 50, 25, 10, 5, 2, 1];

/**
 * Finances v0 as a paged API.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function financesApi(options: FinancesApiOptions): PagedApi<FinancesQuery, FinancesPage> {
  const { prefix, common } = commonApi(options, limits, { 'content-type': 'application/json' });
  return {
    ...common,
    id: String(options.endpoint),
    operations: Object.keys(operations),
    pageSizes,
    request: (query, cursor, pageSize) => ({
      path: prefix + requestPath(query.operation, pageParameters(query, cursor, pageSize)),
    }),
    windowOf: queriedWindow,
    readPage: (_query, { body, headers }) => readFinancesPage(body, headers),
    refusal: (query, answer) => financesRefusal(refusedQuery(query), answer),
    resultTexts: (page) => {
      const texts: string[] = [];
      eachResult(page, (list, node) => texts.push(resultText(page, list, node)));
      return texts;
    },
    recovery: (query) => new DateRecovery(query),
  };
}

function refusedQuery({ operation, parameters }: FinancesQuery): RefusedQuery {
  const { pathParameter, range }: Operation = operations[operation];
  const dates = range === undefined ? [] : [range.after, range.before];
  const bounds = dates.flatMap((name) => parameters[name] ?? []).filter((bound) => typeof bound === 'number');
  return {
    operation,
    parameters: ['MaxResultsPerPage', 'NextToken', ...(pathParameter ? [pathParameter.name] : []), ...dates],
    hasSubject: pathParameter !== undefined,
    bounds,
    marginMs: limits.marginMs,
  };
}

/** Finances v0 as pipelines read it. */
interface FinancesV0 extends Pick<PagedClient<FinancesQuery, FinancesPage>, 'pages' | 'pace' | 'begun'> {
  /** Settlements that are too large to read; left out: they aren't recorded. */
  readonly largeGroups?: LargeGroups | undefined;
}

/** An upstream that has this API. */
export interface WithFinancesV0 {
  readonly v0: FinancesV0;
}
