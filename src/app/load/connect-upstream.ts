import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { messageOf, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { openLargeGroups } from '../../sources/finances/api-v0/large-groups.js';
import { connectFinances, type FinancesUpstream } from '../../sources/finances/api-v0/finances-api.js';
import { openJournal } from '../../engine/journal/journal.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { largeGroupsFile, openQuota, pagesFolder, stateFolder, type StatePlace } from './state-folder.js';

/** A service in this process, until it is closed. */
export interface EmbeddedService {
  readonly url: string;
  close(): Promise<void>;
}

export interface UpstreamOptions extends StatePlace {
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
  /** Starts the embedded service, which is not throttled; it is asked where there is no endpoint. */
  readonly startEmbedded?: ((clock: Clock) => Promise<EmbeddedService>) | undefined;
  /** How the account signs in; undefined: the service asks for nothing. */
  readonly signIn?: SignIn | undefined;
  /** Requests a second and at once, as long as the upstream says nothing else. */
  readonly rate: number;
  readonly burst: number;
  /** Reads again what the lake holds, and tries what could not be read before however recently that was. */
  readonly refresh?: boolean;
  /** Minutes that a NextToken is taken; default 3, the shortest that is known. */
  readonly tokenLifeMinutes?: number | undefined;
}

/**
 * Runs with the upstream at an address, or with the embedded service, which is started for the run and not throttled. `use`
 * may `sweep` once all is loaded: then pages that dead runs have left are forgotten.
 */
export async function withUpstream<T>(
  options: UpstreamOptions,
  account: string,
  { clock, emit }: { readonly clock: Clock; readonly emit: Emit },
  use: (upstream: FinancesUpstream, sweep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { endpoint, rate, burst, signIn, tokenLifeMinutes = 3 } = options;
  const cursorLifeMs = tokenLifeMinutes * 60_000;
  const common = { clock, cursorLifeMs, random: Math.random, emit };
  if (endpoint === undefined) {
    if (options.startEmbedded === undefined) throw usageError('expected --endpoint: there is no embedded service here');
    const service = await options.startEmbedded(clock);
    const connection = connectFinances({ ...common, endpoint: service.url, quota: undefined });
    return use(connection.upstream, () => Promise.resolve()).finally(async () => {
      await connection.close();
      await service.close();
    });
  }
  const folder = stateFolder(options, account);
  const warn = (reason: unknown): void => {
    emit({ event: 'state-not-kept', folder, reason: messageOf(reason) });
  };
  const keeps = isWorthPacing(rate);
  const journal = keeps
    ? await openJournal({ folder: join(folder, pagesFolder), clock, cursorLifeMs, warn })
    : undefined;
  const kept = keeps ? await openQuota(options, account, endpoint, warn) : undefined;
  const path = largeGroupsFile(options, account, endpoint);
  const largeGroups = await openLargeGroups({ path, clock, isForgotten: options.refresh === true, warn });
  const service = { ...common, endpoint, signIn, quota: { rate, burst } };
  const connection = connectFinances({ ...service, journal, kept, largeGroups });
  return use(connection.upstream, () => connection.sweep()).finally(() => connection.close());
}
