import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import type { Environment } from '../../core/environment.js';
import { messageOf, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { openJournal } from '../../engine/journal/journal.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import { connectCustom, cursorLifeMs, type CustomConnection } from '../../sources/custom/custom-api.js';
import { readApiAddress, type CustomAddress } from '../../sources/custom/custom-address.js';
import { customPipeline, isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import {
  connectFinances,
  type Connection,
  type FinancesPipeline,
  type FinancesUpstream,
} from '../../sources/finances/connect-finances.js';
import { openLargeGroups } from '../../sources/finances/api-v0/large-groups.js';
import { largeGroupsFile, openQuota, pagesFolder, quotaFile, stateFolder, type StateLocation } from './state-folder.js';

/** A service in this process, until it is closed. */
export interface EmbeddedService {
  readonly url: string;
  close(): Promise<void>;
}

/** Where custom pipelines find what is theirs. */
export interface CustomLocation extends StateLocation {
  /** The variables that their definitions name; left out: those of the process. */
  readonly environment?: Environment | undefined;
  /** Those of them that a file has which nobody named: it lay in the working folder. Left out: none. */
  readonly untrustedVariables?: ReadonlySet<string> | undefined;
}

export interface UpstreamOptions extends CustomLocation {
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
  /** Whether the configuration file has it. */
  readonly isEndpointConfigured?: boolean;
  /** Starts the embedded service, which is not throttled; it is asked where there is no endpoint. */
  readonly startEmbedded?: ((clock: Clock) => Promise<EmbeddedService>) | undefined;
  /** How the account signs in; undefined: the service asks for nothing. */
  readonly signIn?: SignIn | undefined;
  /** Requests a second and at once, as long as the upstream says nothing else. */
  readonly rate: number;
  readonly burst: number | undefined;
  /** Reads again what the lake holds, and tries what could not be read before however recently that was. */
  readonly refresh?: boolean;
  /** False: pages and quota are kept only where a run has kept them before; left out: true. */
  readonly createsState?: boolean;
  /** Minutes that a NextToken is taken; default 3, the shortest that is known. */
  readonly tokenLifeMinutes?: number | undefined;
}

interface ConnectionContext {
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What becomes of the pages that aren't in the lake when a run ends. */
export type UncommittedPages = Pick<Connection, 'sweep' | 'clear'>;

type Use<T, Connected> = (connected: Connected, pages: UncommittedPages) => Promise<T>;

export const noUncommittedPages: UncommittedPages = { sweep: () => Promise.resolve(), clear: () => Promise.resolve() };

/** Runs with the upstream at an address, or with the embedded service, which is started for the run and not throttled. */
export async function withUpstream<T>(
  options: UpstreamOptions,
  account: string,
  { clock, emit }: ConnectionContext,
  use: Use<T, FinancesUpstream>,
): Promise<T> {
  const { endpoint, rate, burst, signIn, tokenLifeMinutes = 3 } = options;
  const cursorLifeMs = tokenLifeMinutes * 60_000;
  const common = { clock, cursorLifeMs, random: Math.random, emit };
  if (endpoint === undefined) {
    if (options.startEmbedded === undefined)
      throw usageError('expected --endpoint, got none; there is no embedded service here');
    const service = await options.startEmbedded(clock);
    const connection = connectFinances({ ...common, endpoint: service.url, quota: undefined });
    return use(connection.upstream, noUncommittedPages).finally(async () => {
      await connection.close();
      await service.close();
    });
  }
  const warn = warning(options, account, emit);
  const isKept = options.createsState !== false || existsSync(stateFolder(options, account));
  const state =
    isKept && isWorthPacing(rate)
      ? await openState(options, account, { quota: endpoint, pages: pagesFolder, clock, cursorLifeMs, warn })
      : undefined;
  const path = largeGroupsFile(options, account, endpoint);
  const largeGroups = await openLargeGroups({ path, clock, isForgotten: options.refresh === true, warn });
  const connection = connectFinances({ ...common, endpoint, signIn, quota: { rate, burst }, ...state, largeGroups });
  return use(connection.upstream, connection).finally(() => connection.close());
}

/** Answers in which a new definition finds nothing until it is to blame. */
const firstMisses = 3;

/**
 * Runs with custom pipelines connected to their APIs; the others are as they were.
 *
 * @throws LedgerlakeError USAGE where an address or a header isn't there
 */
export async function withCustomConnections<T>(
  pipelines: readonly FinancesPipeline[],
  location: CustomLocation,
  account: string,
  {
    clock,
    emit,
    isProven,
  }: ConnectionContext & {
    /** Whether the lake holds what a definition has found. */
    readonly isProven: (pipeline: CustomPipeline) => boolean;
  },
  use: Use<T, readonly FinancesPipeline[]>,
): Promise<T> {
  const connections: CustomConnection[] = [];
  const connect = async (pipeline: CustomPipeline): Promise<FinancesPipeline> => {
    const { loaded } = pipeline;
    const { name, api } = loaded.definition;
    const address = customAddress(pipeline, account, location);
    const state =
      api.quota !== undefined && isWorthPacing(api.quota.rate)
        ? await openState(location, account, {
            ...{ quota: quotaName(name, address), pages: join(pagesFolder, name) },
            ...{ clock, cursorLifeMs: cursorLifeMs(loaded), warn: warning(location, account, emit) },
          })
        : { kept: undefined, journal: undefined };
    const mostMisses = isProven(pipeline) ? Infinity : firstMisses;
    const connection = connectCustom(loaded, { address, clock, random: Math.random, emit, mostMisses, ...state });
    connections.push(connection);
    // What is to be done may be another's word: a sync's.
    return { ...customPipeline(loaded, connection), sliceQueue: (job) => pipeline.sliceQueue(job) };
  };
  try {
    const connected: FinancesPipeline[] = [];
    for (const pipeline of pipelines) connected.push(isCustom(pipeline) ? await connect(pipeline) : pipeline);
    return await use(connected, {
      sweep: async () => {
        for (const connection of connections) await connection.sweep();
      },
      clear: async () => {
        for (const connection of connections) await connection.clear();
      },
    });
  } finally {
    for (const connection of connections) await connection.close();
  }
}

interface StateOptions {
  /** Whose quota it is. */
  readonly quota: string;
  /** Folder of its pages. */
  readonly pages: string;
  readonly clock: Clock;
  readonly cursorLifeMs: number;
  readonly warn: (reason: unknown) => void;
}

/** Pages of unfinished slices, and the level of the quota. */
async function openState(
  location: StateLocation,
  account: string,
  { quota, pages, clock, cursorLifeMs, warn }: StateOptions,
) {
  const folder = join(stateFolder(location, account), pages);
  const journal = await openJournal({ folder, clock, cursorLifeMs, warn });
  return { journal, kept: await openQuota(location, account, quota, warn) };
}

/** Warns once of each kind of failure: on a full disk every page fails. */
function warning(location: StateLocation, account: string, emit: Emit) {
  const folder = stateFolder(location, account);
  const warned = new Set<string>();
  return (reason: unknown): void => {
    const kind = reason instanceof Error && 'code' in reason ? String(reason.code) : messageOf(reason);
    if (warned.has(kind)) return;
    warned.add(kind);
    emit({ event: 'state-not-kept', folder, reason: messageOf(reason) });
  };
}

/** @throws LedgerlakeError USAGE where an address or a header isn't there */
export function customAddress(
  { loaded: { definition, file } }: CustomPipeline,
  account: string,
  { environment = process.env, untrustedVariables }: Pick<CustomLocation, 'environment' | 'untrustedVariables'>,
): CustomAddress {
  return readApiAddress(definition.api, { file, account, environment, untrustedVariables });
}

/** Where the level of a custom pipeline's quota is kept. */
export function customQuotaFile(
  location: StateLocation,
  account: string,
  name: string,
  address: CustomAddress,
): string {
  return quotaFile(location, account, quotaName(name, address));
}

function quotaName(name: string, { origin, prefix }: CustomAddress): string {
  return `${origin}${prefix} ${name}`;
}
