import { entries, events, groupEntries, groupEvents, groups, orderEntries, orderEvents } from '../model/tables.js';
import type { FinancesApi } from '../selling-partner/finances-api.js';
import { limits, operations } from './operations.js';

export const financesV0 = {
  name: 'v0',
  title: 'Finances v0',
  operations,
  limits,
  tables: [events, entries, groups, groupEvents, groupEntries, orderEvents, orderEntries],
} as const satisfies FinancesApi;
