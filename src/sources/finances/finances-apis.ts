import type { Derivation } from '../../engine/run/derivation.js';
import { finances20240619 } from './api-2024-06-19/finances-api.js';
import { financesV0 } from './api-v0/finances-api.js';
import type { ApiName, FinancesOperation } from './api-names.js';
import type {
  ApiOperation,
  ApiQuery,
  FinancesApi,
  FinancesReader,
  PagedFinancesApi,
} from './selling-partner/finances-api.js';
import type { ScannedApiPage } from './selling-partner/scanned-page.js';
import {
  reportOperations,
  type ReportOperation,
  type ReportOperationName,
} from './settlement-reports/report-operations.js';

const apiByName = { v0: financesV0, '2024-06-19': finances20240619 } as const satisfies {
  readonly [Name in ApiName]: FinancesApi & { readonly name: Name };
};

/** The Finances APIs, the oldest first. */
export const financesApis = Object.values(apiByName);

type ReaderOf<Api extends FinancesApi> =
  ReturnType<Api['paged']> extends PagedFinancesApi<infer Q extends ApiQuery, infer P extends ScannedApiPage>
    ? FinancesReader<Q, P>
    : never;

/** A reader of each API, by its name. */
export type FinancesReaders = { readonly [Name in ApiName]: ReaderOf<(typeof apiByName)[Name]> };

/** An operation of any of the APIs, or of the Reports API. */
export type OperationName = FinancesOperation | ReportOperationName;

type KnownApi = (typeof financesApis)[number];

/** The API that has an operation, or whose answers name their results like this. */
export function apiWith(name: string): KnownApi | undefined {
  const isNamed = (operation: ApiOperation) => operation.name === name || operation.result === name;
  return financesApis.find(({ operations }) => Object.values<ApiOperation>(operations).some(isNamed));
}

/** The documented burst of an operation. */
export function burstOf(operation: string): number {
  const reports: Readonly<Record<string, ReportOperation>> = reportOperations;
  return apiWith(operation)?.limits.burst ?? reports[operation]?.burst ?? 1;
}

/** How a pipeline derives its first derived table from the stored rows of its main table; undefined: `rebuild` doesn't change its tables. */
export function derivationOf({
  operation,
  derived,
}: {
  readonly operation: string;
  readonly derived: readonly unknown[];
}): Derivation | undefined {
  return derived.length === 0 ? undefined : apiWith(operation)?.derivation;
}
