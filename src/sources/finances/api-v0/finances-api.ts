import { DateRecovery } from './cursor-recovery.js';
import { eventDerivation } from './event-derivation.js';
import { eachEventOrGroup, readFinancesPage, type CountedPage } from './finances-page.js';
import { eventLimits, eventOperations, type EventOperation } from './operations.js';
import {
  commonApi,
  refusedQuery,
  type FinancesApi,
  type FinancesApiOptions,
  type FinancesReader,
  type PagedFinancesApi,
} from '../selling-partner/finances-api.js';
import { financesRefusal } from '../selling-partner/refusals.js';
import { entries, events, groupEntries, groupEvents, groups, orderEntries, orderEvents } from './event-tables.js';
import { pageParameters, requestPath, type EventQuery } from './request-path.js';

/** Page sizes, tried in this order where a page is too large for the service. */
const pageSizes = [eventLimits.pageSize, 50, 25, 10, 5, 2, 1];

export const financesV0 = {
  name: 'v0',
  title: 'Finances v0',
  operations: eventOperations,
  limits: eventLimits,
  tables: [events, entries, groups, groupEvents, groupEntries, orderEvents, orderEntries],
  derivation: eventDerivation,
  paged,
} as const satisfies FinancesApi;

function paged(options: FinancesApiOptions): PagedFinancesApi<EventQuery, CountedPage> {
  const { prefix, common } = commonApi<CountedPage>(
    options,
    { operations: eventOperations, limits: eventLimits },
    eachEventOrGroup,
    {
      'content-type': 'application/json',
    },
  );
  return {
    ...common,
    id: String(options.endpoint),
    pageSizes,
    request: (query, cursor, pageSize) => ({
      path: prefix + requestPath(query.operation, pageParameters(query, cursor, pageSize)),
    }),
    readPage: (_query, { body, headers }) => readFinancesPage(body, headers),
    refusal: (query, answer) => {
      const operation: EventOperation = eventOperations[query.operation];
      const refused = refusedQuery(
        operation,
        query,
        ['MaxResultsPerPage', 'NextToken'],
        operation.pathParameter !== undefined,
      );
      return financesRefusal(refused, answer);
    },
    recovery: (query) => new DateRecovery(query),
  };
}

/** An upstream that has this API. */
export interface WithFinancesV0 {
  readonly v0: FinancesReader<EventQuery, CountedPage>;
}
