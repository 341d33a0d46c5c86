import { isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { readEndpoint } from '../../engine/http/address.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { Api } from '../../sources/finances/selling-partner/apis.js';
import { readAccount, readCustomAccount } from '../configuration/account.js';
import { rangeMarginMs } from '../configuration/range.js';
import { areAllCustom, choosePipelines, readOrders } from '../configuration/chosen-pipelines.js';

/** What is asked for of whom. */
export interface JobOptions {
  readonly account: string | undefined;
  readonly endpoint: string | undefined;
  /** Names; empty for those of the API. */
  readonly pipelines: readonly string[];
  /** Whose pipelines run where none is named; left out: v0's. */
  readonly api?: Api | undefined;
  /** The text of the file with order ids, and its name. */
  readonly orders: { readonly text: string; readonly source: string } | undefined;
  /** Custom pipelines, whether or not they are named. */
  readonly customPipelines?: readonly CustomPipeline[];
  /** Minutes by which bounds stay behind the present; left out: those of `range.ts`. */
  readonly marginMinutes?: number | undefined;
}

/** A job as it was asked for, once it is known to be one. */
export interface LoadJob {
  readonly account: string;
  readonly pipelines: readonly FinancesPipeline[];
  readonly custom: readonly CustomPipeline[];
  /** Whether nothing is asked of the finances. */
  readonly isCustomOnly: boolean;
  readonly orders: readonly string[];
  /** The same, or the lateness of a pipeline that has a longer one. */
  readonly marginMinutes: number;
}

/** @throws LedgerlakeError USAGE for a job that is none */
export function readJob(options: JobOptions): LoadJob {
  const { endpoint, orders } = options;
  const pipelines = choosePipelines(options.pipelines, orders !== undefined, options.customPipelines, options.api);
  const ids = orders === undefined ? [] : readOrders(orders.text, orders.source);
  const isCustomOnly = areAllCustom(pipelines);
  const account = isCustomOnly ? readCustomAccount(options.account) : readAccount(options.account, endpoint);
  if (endpoint !== undefined) readEndpoint(endpoint);
  const custom = pipelines.filter(isCustom);
  const lateness = custom.map(({ loaded }) => loaded.definition.windows?.latenessMinutes ?? 0);
  const marginMinutes = Math.max(options.marginMinutes ?? rangeMarginMs / 60_000, ...lateness);
  return { account, pipelines, custom, isCustomOnly, orders: ids, marginMinutes };
}
