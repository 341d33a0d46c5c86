import { transactionLimits, transactionOperations } from './api-2024-06-19/operations.js';
import { eventLimits, eventOperations } from './api-v0/operations.js';
import type { FinancesApi } from './selling-partner/finances-api.js';

/** The Finances APIs, the oldest first. Every command, and the types for programs, load this file: it imports nothing that reads them. */
const apiFacts = {
  v0: { limits: eventLimits, operations: namesOf(eventOperations) },
  '2024-06-19': { limits: transactionLimits, operations: namesOf(transactionOperations) },
} as const satisfies Record<string, { readonly limits: FinancesApi['limits']; readonly operations: readonly string[] }>;

function namesOf<Name extends string>(operations: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(operations) as Name[];
}

export type ApiName = keyof typeof apiFacts;
export const apiNames = Object.keys(apiFacts) as readonly ApiName[];

/** An operation with pages, of any of the APIs. */
export type FinancesOperation = (typeof apiFacts)[ApiName]['operations'][number];

/** Values of `--api`: an API, or all of them. */
export const apis = [...apiNames, 'both'] as const;
export type Api = (typeof apis)[number];

/** The API whose pipelines run by default. */
export const defaultApi = 'v0' satisfies ApiName;

/** Default bursts, for the help. */
export const burstsText = Object.entries(apiFacts)
  .map(([name, { limits }]) => `${limits.burst}${name === defaultApi ? '' : ` for ${name}`}`)
  .join('; ');
