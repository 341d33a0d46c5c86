import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import type { FinancesPipeline, FinancesUpstream } from '../../sources/finances/api-v0/finances-api.js';
import { openJournal } from '../../engine/journal/journal.js';
import {
  readApiAddress,
  type ApiAddress,
  connectCustom,
  cursorLifeMs,
  type CustomConnection,
} from '../../sources/custom/custom-api.js';
import type { LoadedDefinition } from '../../sources/custom/load-definitions.js';
import { isCustom, customPipeline, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import { openQuota, pagesFolder, quotaFile, stateFolder, type StatePlace } from './state-folder.js';

interface Surroundings {
  readonly clock: Clock;
  readonly emit: Emit;
}

/** For runs that ask nothing of the finances. */
export const noUpstream: FinancesUpstream = {
  pages: () => {
    throw new Error('nothing is asked of the finances');
  },
  pace: () => undefined,
  begun: () => [],
};

/**
 * Runs with users' own pipelines connected to their APIs; the others are as they were. `use` may `sweep` once all is
 * loaded, as with `withUpstream`.
 *
 * @throws LedgerlakeError USAGE where an address or a header isn't there
 */
export async function withOwnConnections<T>(
  pipelines: readonly FinancesPipeline[],
  place: StatePlace,
  account: string,
  surroundings: Surroundings,
  use: (connected: readonly FinancesPipeline[], sweep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const connections: CustomConnection[] = [];
  try {
    const connected: FinancesPipeline[] = [];
    for (const pipeline of pipelines) {
      if (!isCustom(pipeline)) {
        connected.push(pipeline);
        continue;
      }
      const address = ownAddress(pipeline);
      const connection = await connect(pipeline.loaded, address, place, account, surroundings);
      connections.push(connection);
      // What is to be done may be another's word: a sync's.
      connected.push({ ...customPipeline(pipeline.loaded, connection), work: (job) => pipeline.work(job) });
    }
    return await use(connected, async () => {
      for (const connection of connections) await connection.sweep();
    });
  } finally {
    for (const connection of connections) await connection.close();
  }
}

/** @throws LedgerlakeError USAGE where an address or a header isn't there */
export function ownAddress({ loaded: { definition, file } }: CustomPipeline): ApiAddress {
  return readApiAddress(definition.api, file, process.env);
}

/** Where the level of a pipeline's quota is kept. */
export function ownQuotaFile(place: StatePlace, account: string, name: string, address: ApiAddress): string {
  return quotaFile(place, account, quotaName(name, address));
}

function quotaName(name: string, { origin, prefix }: ApiAddress): string {
  return `${origin}${prefix} ${name}`;
}

async function connect(
  loaded: LoadedDefinition,
  address: ApiAddress,
  place: StatePlace,
  account: string,
  { clock, emit }: Surroundings,
): Promise<CustomConnection> {
  const { name, api } = loaded.definition;
  const folder = stateFolder(place, account);
  const warn = (reason: unknown): void => {
    emit({ event: 'state-not-kept', folder, reason: messageOf(reason) });
  };
  const isKept = api.quota !== undefined && isWorthPacing(api.quota.rate);
  const pages = { folder: join(folder, pagesFolder, name), clock, cursorLifeMs: cursorLifeMs(loaded), warn };
  const journal = isKept ? await openJournal(pages) : undefined;
  const kept = isKept ? await openQuota(place, account, quotaName(name, address), warn) : undefined;
  return connectCustom(loaded, { address, clock, random: Math.random, kept, journal, emit });
}
