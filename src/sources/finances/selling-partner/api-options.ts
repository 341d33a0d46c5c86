import { readEndpoint } from '../../../engine/http/address.js';
import type { ApiPage, PagedApi, Query } from '../../../engine/paging/paged-api.js';

/** Address and limits of the Finances APIs. */
export interface FinancesApiOptions {
  /** Base address; its path precedes that of the operations. */
  readonly endpoint: URL | string;
  /** Of each operation, until the service states another rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number | undefined } | undefined;
  /** How long a NextToken is accepted. */
  readonly cursorLifeMs: number;
}

type CommonMember = 'address' | 'quota' | 'rateHeader' | 'requestIdHeader' | 'cursorLifeMs' | 'longestWindowMs';

/**
 * The members that the Finances APIs have in common, and the path before that of their operations.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function commonApi(
  { endpoint, quota, cursorLifeMs }: FinancesApiOptions,
  { burst, maxSpanMs }: { readonly burst: number; readonly maxSpanMs: number },
  headers: Readonly<Record<string, string>> = {},
): { readonly prefix: string; readonly common: Pick<PagedApi<Query, ApiPage>, CommonMember> } {
  const { origin, prefix, authorization, login } = readEndpoint(endpoint);
  const sent = { accept: 'application/json', ...headers, ...(authorization !== undefined && { authorization }) };
  const common = {
    address: { origin, headers: sent, secrets: login, setting: 'the endpoint' },
    quota: quota && { rate: quota.rate, burst: quota.burst ?? burst },
    rateHeader: 'x-amzn-ratelimit-limit',
    requestIdHeader: 'x-amzn-requestid',
    cursorLifeMs,
    longestWindowMs: maxSpanMs,
  };
  return { prefix, common };
}
