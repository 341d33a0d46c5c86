import { existsSync } from 'node:fs';
import type { Clock } from '../../core/clock.js';
import { messageOf, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { below, checkedPath } from '../../core/io/links.js';
import { openPageJournal } from '../../engine/page-journal/page-journal.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import type { Lake } from '../../lake/lake.js';
import { connectCustom, cursorLifeMs, type CustomConnection } from '../../sources/custom/custom-api.js';
import { readApiAddress, type CustomAddress } from '../../sources/custom/custom-address.js';
import { customPipeline, isCustom, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import {
  connectFinances,
  noUpstream,
  type SourceConnection,
  type ConnectionOptions,
  type FinancesPipeline,
} from '../../sources/finances/connect-finances.js';
import { runSettings } from '../configuration/setting-definitions.js';
import type { RunContext } from '../context.js';
import type { LoadOptions } from './run-settings.js';
import { isStateTemporary, openQuota, pagesFolder, stateFolder, type StateLocation } from './state-folder.js';

type ConnectionContext = Pick<RunContext, 'clock' | 'emit'>;

const noStep = () => Promise.resolve();

/** The connection of a run of custom pipelines alone. */
export const noConnection: SourceConnection = { upstream: noUpstream, sweep: noStep, clear: noStep, close: noStep };

/**
 * Connects to the upstream at the endpoint, or without one to the embedded service, which it starts. `hasAnswered`: whether the lake
 * has loads from it.
 */
export async function openUpstream(
  options: LoadOptions,
  account: string,
  { clock, emit, hasAnswered }: ConnectionContext & Pick<ConnectionOptions, 'hasAnswered'>,
): Promise<SourceConnection> {
  const { endpoint, rate, burst, signIn, startEmbedded } = options;
  const { tokenLifeMinutes = runSettings.tokenLifeMinutes.default } = options;
  const cursorLifeMs = tokenLifeMinutes * 60_000;
  const common = { clock, cursorLifeMs, random: Math.random, emit, hasAnswered };
  if (endpoint === undefined) {
    if (startEmbedded === undefined)
      throw usageError('expected --endpoint, got none; there is no embedded service here');
    const server = await startEmbedded(clock);
    const connection = connectFinances({ ...common, endpoint: server.url, quota: undefined });
    const close = async () => {
      await connection.close();
      await server.close();
    };
    return { ...connection, close };
  }
  const warn = stateWarning(options, account, emit);
  if (isStateTemporary(options)) emit({ event: 'state-temporary', folder: checkedPath(stateFolder(options, account)) });
  const isKept = options.createsState !== false || existsSync(checkedPath(stateFolder(options, account)));
  const state =
    isKept && isWorthPacing(rate)
      ? await openState(options, account, { quota: endpoint, pages: pagesFolder, clock, cursorLifeMs, warn })
      : undefined;
  return connectFinances({ ...common, endpoint, signIn, quota: { rate, burst }, ...state });
}

/** Answers without a record after which a definition that has never found any is reported as wrong. */
const firstMisses = 3;

/**
 * Connects custom pipelines to their APIs until `close`; other pipelines are unchanged.
 *
 * @throws LedgerlakeError USAGE where the variable of an address or a header is missing
 */
export async function connectPipelines(
  pipelines: readonly FinancesPipeline[],
  location: LoadOptions,
  account: string,
  { lake, ...context }: ConnectionContext & { readonly lake: Lake },
): Promise<Omit<SourceConnection, 'upstream'> & { readonly pipelines: readonly FinancesPipeline[] }> {
  const connections: CustomConnection[] = [];
  const onEach = (step: 'sweep' | 'clear' | 'close') => async () => {
    for (const connection of connections) await connection[step]();
  };
  const close = onEach('close');
  const connected: FinancesPipeline[] = [];
  try {
    for (const pipeline of pipelines) {
      if (!isCustom(pipeline)) {
        connected.push(pipeline);
        continue;
      }
      // The definition has found records before.
      const isProven = lake.snapshot.filesOf(pipeline.main.name, account, pipeline.name).length > 0;
      const mostMisses = isProven ? Infinity : firstMisses;
      const connection = await connectPipeline(pipeline, location, account, {
        ...context,
        mostMisses,
        hasAnswered: isProven,
      });
      connections.push(connection);
      connected.push(customPipeline(pipeline.loaded, connection));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { pipelines: connected, sweep: onEach('sweep'), clear: onEach('clear'), close };
}

async function connectPipeline(
  pipeline: CustomPipeline,
  location: LoadOptions,
  account: string,
  {
    clock,
    emit,
    mostMisses,
    hasAnswered,
  }: ConnectionContext & Pick<ConnectionOptions, 'hasAnswered'> & { readonly mostMisses: number },
): Promise<CustomConnection> {
  const { loaded } = pipeline;
  const { name, api } = loaded.definition;
  const address = customAddress(pipeline, account, location);
  const state =
    api.quota !== undefined && isWorthPacing(api.quota.rate)
      ? await openState(location, account, {
          quota: quotaName(name, address),
          pages: `${pagesFolder}/${name}`,
          clock,
          cursorLifeMs: cursorLifeMs(loaded),
          warn: stateWarning(location, account, emit),
        })
      : { kept: undefined, pageJournal: undefined };
  return connectCustom(loaded, { address, clock, random: Math.random, emit, mostMisses, hasAnswered, ...state });
}

interface StateOptions {
  /** Name of the quota: the endpoint, or the pipeline's. */
  readonly quota: string;
  /** Folder of its pages. */
  readonly pages: string;
  readonly clock: Clock;
  readonly cursorLifeMs: number;
  readonly warn: (reason: unknown) => void;
}

/** Opens the page journal of unfinished slices, and the level of the quota. */
async function openState(
  location: StateLocation,
  account: string,
  { quota, pages, clock, cursorLifeMs, warn }: StateOptions,
) {
  const folder = below(stateFolder(location, account), pages);
  const pageJournal = await openPageJournal({ folder, clock, cursorLifeMs, warn });
  return { pageJournal, kept: await openQuota(location, account, quota, warn) };
}

/** Emits one warning for each kind of failure: on a full disk every page fails. */
function stateWarning(location: StateLocation, account: string, emit: Emit) {
  const folder = checkedPath(stateFolder(location, account));
  const warned = new Set<string>();
  return (reason: unknown): void => {
    const kind = reason instanceof Error && 'code' in reason ? String(reason.code) : messageOf(reason);
    if (warned.has(kind)) return;
    warned.add(kind);
    emit({ event: 'state-not-kept', folder, reason: messageOf(reason) });
  };
}

/** @throws LedgerlakeError USAGE where the variable of an address or a header is missing */
export function customAddress(
  { loaded: { definition, file } }: CustomPipeline,
  account: string,
  { environment = process.env, origins }: Pick<LoadOptions, 'environment' | 'origins'>,
): CustomAddress {
  return readApiAddress(definition.api, { file, account, environment, origins });
}

/** The name of a custom pipeline's quota, as `quotaFile` takes it. */
export function quotaName(name: string, { origin, prefix }: CustomAddress): string {
  return `${origin}${prefix} ${name}`;
}
