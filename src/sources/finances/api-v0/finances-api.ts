import { DateRecovery } from './cursor-recovery.js';
import { eachResult, readFinancesPage, type FinancesPage } from './finances-page.js';
import type { LargeGroups } from './large-groups.js';
import { financesV0 } from './api.js';
import { limits, operations, type Operation } from './operations.js';
import {
  commonApi,
  type FinancesApiOptions,
  type FinancesClient,
  type PagedFinancesApi,
} from '../selling-partner/finances-api.js';
import { financesRefusal, type RefusedQuery } from '../selling-partner/refusals.js';
import { pageParameters, requestPath, queriedWindow, type FinancesQuery } from './request-path.js';

/** Page sizes, tried in this order where a page is too large for the service. */
const pageSizes = [limits.pageSize, 50, 25, 10, 5, 2, 1];

/**
 * Finances v0 as a paged API.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function financesApi(options: FinancesApiOptions): PagedFinancesApi<FinancesQuery, FinancesPage> {
  const { prefix, common } = commonApi<FinancesPage>(options, financesV0, eachResult, {
    'content-type': 'application/json',
  });
  return {
    ...common,
    id: String(options.endpoint),
    pageSizes,
    request: (query, cursor, pageSize) => ({
      path: prefix + requestPath(query.operation, pageParameters(query, cursor, pageSize)),
    }),
    windowOf: queriedWindow,
    readPage: (_query, { body, headers }) => readFinancesPage(body, headers),
    refusal: (query, answer) => financesRefusal(refusedQuery(query), answer),
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

/** An upstream that has this API. */
export interface WithFinancesV0 {
  readonly v0: FinancesClient<FinancesQuery, FinancesPage>;
  /** Settlements that are too large to read; left out: they aren't recorded. */
  readonly largeGroups?: LargeGroups | undefined;
}
