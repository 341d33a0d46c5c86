import type { LoadCommand } from '../../engine/run/load-options.js';
import { readEndpoint } from '../../engine/http/address.js';
import type { Window } from '../../core/windows.js';
import { isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { readAccount, readCustomAccount } from '../configuration/account.js';
import { choosePipelines } from '../configuration/chosen-pipelines.js';
import { rangeMarginMs, readDateRange } from '../configuration/range.js';
import { readMaxLag } from './freshness.js';
import type { LoadOptions } from './run-settings.js';

/** What a command is requested to load, or to plan: its options, and what they say. */
export interface LoadRequest {
  readonly command: LoadCommand;
  readonly options: LoadOptions;
  readonly account: string;
  readonly pipelines: readonly FinancesPipeline[];
  /** Those of them that users define. */
  readonly custom: readonly CustomPipeline[];
  /** Whether custom pipelines alone are chosen. */
  readonly isCustomOnly: boolean;
  /** When it was requested: milliseconds since 1970. */
  readonly now: number;
  /** Of `from` and `to`. It ends at least as long ago as the longest lateness of the custom pipelines. */
  readonly range: Window;
  /** Undefined: any age. */
  readonly maxLagMs: number | undefined;
}

/** @throws LedgerlakeError USAGE where the options are invalid */
export function readLoadRequest(command: LoadCommand, options: LoadOptions, now: number): LoadRequest {
  const { endpoint } = options;
  const pipelines = choosePipelines(
    options.pipelines,
    options.orders !== undefined,
    options.customPipelines,
    options.api,
  );
  const isCustomOnly = pipelines.length > 0 && pipelines.every(isCustom);
  const account = isCustomOnly ? readCustomAccount(options.account) : readAccount(options.account, endpoint);
  if (endpoint !== undefined) readEndpoint(endpoint);
  const custom = pipelines.filter(isCustom);
  const lateness = custom.map(({ loaded }) => loaded.definition.windows?.latenessMinutes ?? 0);
  const marginMinutes = Math.max(options.marginMinutes ?? rangeMarginMs / 60_000, ...lateness);
  const maxLagMs = readMaxLag(options.maxLag, marginMinutes);
  const range = readDateRange({ ...options, marginMinutes }, now);
  return { command, options, account, pipelines, custom, isCustomOnly, now, range, maxLagMs };
}
