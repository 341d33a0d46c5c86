import { transactionLimits } from './api-2024-06-19/operations.js';
import { eventLimits } from './api-v0/operations.js';
import type { FinancesApi } from './selling-partner/finances-api.js';

/** The Finances APIs, the oldest first, with their limits. Every command loads this file: it imports nothing that reads them. */
const apiLimits = { v0: eventLimits, '2024-06-19': transactionLimits } as const satisfies Record<
  string,
  FinancesApi['limits']
>;

export type ApiName = keyof typeof apiLimits;
export const apiNames = Object.keys(apiLimits) as readonly ApiName[];

/** Values of `--api`: an API, or all of them. */
export const apis = [...apiNames, 'both'] as const;
export type Api = (typeof apis)[number];

/** The API whose pipelines run by default. */
export const defaultApi = 'v0' satisfies ApiName;

/** Default bursts, for the help. */
export const burstsText = Object.entries(apiLimits)
  .map(([name, { burst }]) => `${burst}${name === defaultApi ? '' : ` for ${name}`}`)
  .join('; ');
