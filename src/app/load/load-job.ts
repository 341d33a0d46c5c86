import { isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { readEndpoint } from '../../engine/http/address.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { readAccount, readCustomAccount } from '../configuration/account.js';
import { rangeMarginMs } from '../configuration/range.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { areAllCustom, choosePipelines, readOrders } from '../configuration/chosen-pipelines.js';

/** The options that decide what a run loads, and for which account. */
export interface JobOptions extends OptionalSettings<'api' | 'marginMinutes'> {
  readonly account: string | undefined;
  readonly endpoint: string | undefined;
  /** Names of pipelines; empty: the default ones of the API. */
  readonly pipelines: readonly string[];
  /** The text of the file with order ids, and the file's name. */
  readonly orders: { readonly text: string; readonly source: string } | undefined;
  /** All custom pipelines, named or not. */
  readonly customPipelines?: readonly CustomPipeline[];
}

/** A validated job. */
export interface LoadJob {
  readonly account: string;
  readonly pipelines: readonly FinancesPipeline[];
  readonly custom: readonly CustomPipeline[];
  /** Whether the job asks for custom pipelines alone. */
  readonly isCustomOnly: boolean;
  readonly orders: readonly string[];
  /** Minutes between the latest bound of a range and the present: the option's, or a custom pipeline's lateness where it is longer. */
  readonly marginMinutes: number;
}

/** @throws LedgerlakeError USAGE where the options are invalid */
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
