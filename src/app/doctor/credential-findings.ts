import { existsSync } from 'node:fs';
import { messageOf } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { checkedPath } from '../../core/io/links.js';
import { withinLimit } from '../../core/time-limit.js';
import { dayMs } from '../../core/windows.js';
import { defaultPipelines, pipelines, roles } from '../../../pipelines/all-pipelines.js';
import type { PersistedQuota } from '../../engine/page-journal/persisted-quota.js';
import type { PagedClientOptions } from '../../engine/paging/paged-client.js';
import { isWorthPacing } from '../../engine/rate-limit/request-queue.js';
import { ReadFailure } from '../../engine/retry/read-failure.js';
import type { Job, Reading, RequestCounts } from '../../engine/run/pipeline.js';
import { windowSlice } from '../../engine/slicing/window-slices.js';
import { nameIn } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import { connectCustom } from '../../sources/custom/custom-api.js';
import { customPipeline, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import {
  connectFinances,
  noUpstream,
  type FinancesPipeline,
  type FinancesUpstream,
} from '../../sources/finances/connect-finances.js';
import { defaultApi } from '../../sources/finances/api-names.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { latestBound } from '../configuration/range.js';
import { isLoadedFromApi } from '../coverage/stored-pipelines.js';
import { accountEnvironment, resolveAccount, type ResolvedAccount } from '../configuration/resolve-account.js';
import { shownAddress } from '../accounts/accounts.js';
import { customAddress, quotaName } from '../load/connections.js';
import { openQuota, stateFolder } from '../load/state-folder.js';
import type { ExaminedSettings } from './configuration-findings.js';
import type { RunContext } from '../context.js';
import { warnings, type AddFinding } from './findings.js';

/** An account whose credentials are examined. */
export interface ExaminedAccount extends ExaminedSettings {
  readonly account: string;
  /** `--endpoint`. */
  readonly endpoint: string | undefined;
  /** Undefined where it can't be read. */
  readonly lake: Lake | undefined;
  /** Called with each difference of a service's clock and ours, in milliseconds. */
  readonly onClock: (skewMs: number) => void;
}

/** The time in which a request is retried. */
const withinMs = 5000;

/** The time for a request, its wait for the quota and its retries: less than an examination has. */
const requestLimitMs = 20_000;

/** The past in which the settlements opened of which one is read. */
const recentDays = 60;

/**
 * Signs an account in, and sends a small request for each operation that its pipelines use. It is paced by the quota that runs
 * have left, and what it takes is noted for the next run.
 *
 * @throws LedgerlakeError USAGE for settings that are incomplete, and the failure of the sign-in
 */
export async function examineCredentials(
  examined: ExaminedAccount,
  context: RunContext,
  add: AddFinding,
): Promise<void> {
  const { account, configuration, environment, endpoint } = examined;
  const connecting = { clock: context.clock, random: Math.random, withinMs, onClock: examined.onClock };
  const custom = examined.customPipelines.filter((pipeline) => isInUse(pipeline, examined));
  const usual = usedPipelines(examined);
  // An account that only custom pipelines load needs no endpoint.
  if (usual.length > 0) {
    const resolved = await resolveAccount(configuration, environment, { account, endpoint });
    await examineFinances(usual, resolved, examined, { ...context, connecting }, add);
  }
  for (const pipeline of custom) await examineCustom(pipeline, examined, { ...context, connecting }, add);
}

interface ConnectingContext extends RunContext {
  readonly connecting: Pick<PagedClientOptions, 'clock' | 'random' | 'withinMs' | 'onClock'>;
}

/** The built-in pipelines that a sync of the account runs, or that it has loaded from the API. */
function usedPipelines(examined: ExaminedAccount): readonly FinancesPipeline[] {
  const { account, lake, settings, customPipelines } = examined;
  const used = pipelines.filter((pipeline) => isInUse(pipeline, examined));
  const isCustomOnly = used.length === 0 && customPipelines.some((pipeline) => isInUse(pipeline, examined));
  if (isCustomOnly && lake?.snapshot.accounts().has(account) === true) return [];
  const reports = settings.settlementReports === true ? [roles.reports] : [];
  const all = new Set([...withNeeds(defaultPipelines[settings.api ?? defaultApi]), ...reports, ...used]);
  // Pipelines that share an operation share its permission and its quota.
  return [...groupBy(all, ({ operation }) => operation).values()].flatMap(([first]) => first ?? []);
}

function isInUse(pipeline: FinancesPipeline | CustomPipeline, { lake, account }: ExaminedAccount): boolean {
  return lake !== undefined && isLoadedFromApi(lake, pipeline, account);
}

async function examineFinances(
  used: readonly FinancesPipeline[],
  { endpoint, signIn, exposed = [] }: ResolvedAccount,
  examined: ExaminedAccount,
  context: ConnectingContext,
  add: AddFinding,
): Promise<void> {
  const { account, settings } = examined;
  const log = warnings(add);
  for (const file of exposed) log({ event: 'secret-exposed', file });
  if (endpoint === undefined) {
    add({ state: 'ok', found: `${account} is served by the embedded service` });
    return;
  }
  const { rate, burst, tokenLifeMinutes } = settings;
  const connection = connectFinances({
    ...context.connecting,
    endpoint,
    signIn,
    quota: { rate, burst },
    cursorLifeMs: tokenLifeMinutes * 60_000,
    kept: await keptQuota(examined, endpoint, rate),
  });
  try {
    await connection.accessTokens?.current(context.signal);
    const { upstream } = connection;
    const outcomes = await Promise.all(used.map((pipeline) => request(pipeline, upstream, examined, context)));
    const source = `${signIn === undefined ? 'without sign-in' : 'signed in'}, ${shownAddress(endpoint)}`;
    addOutcomes(outcomes, { account, source }, add);
  } finally {
    await connection.close();
  }
}

async function examineCustom(
  { name, loaded }: CustomPipeline,
  examined: ExaminedAccount,
  context: ConnectingContext,
  add: AddFinding,
): Promise<void> {
  const { account, configuration, environment } = examined;
  const variables = await accountEnvironment(configuration, environment, account);
  const address = customAddress(customPipeline(loaded), account, variables);
  const { quota } = loaded.definition.api;
  const kept = quota && (await keptQuota(examined, quotaName(name, address), quota.rate));
  const connection = connectCustom(loaded, { ...context.connecting, address, kept });
  try {
    const outcome = await request(customPipeline(loaded, connection), noUpstream, examined, context);
    addOutcomes([outcome], { account, source: address.origin }, add);
  } finally {
    await connection.close();
  }
}

/** The level of a quota that runs have left; undefined where no run has kept one. */
async function keptQuota(
  { settings, account }: ExaminedAccount,
  name: string,
  rate: number,
): Promise<PersistedQuota | undefined> {
  const isKept = isWorthPacing(rate) && existsSync(checkedPath(stateFolder(settings, account)));
  return isKept ? openQuota(settings, account, name, () => undefined) : undefined;
}

/** What became of the request of an operation. */
interface RequestOutcome {
  readonly operation: string;
  /** `none`: the lake has nothing yet that it could be asked about. */
  readonly kind: 'answered' | 'none' | 'not sent' | 'throttled' | 'failed';
  /** The message of the failure. */
  readonly message: string;
}

/** Requests a page of a pipeline's operation. Throws the signal's reason. */
async function request(
  pipeline: FinancesPipeline,
  upstream: FinancesUpstream,
  examined: ExaminedAccount,
  context: RunContext,
): Promise<RequestOutcome> {
  const { operation } = pipeline;
  const counts: RequestCounts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const { account } = examined;
  const reading = { upstream, account, counts, priority: 0, committed: () => undefined, emit: () => undefined };
  try {
    await withinLimit(requestLimitMs, context, (signal) =>
      requestPage(pipeline, { ...reading, signal }, examined, context.clock.now()),
    );
    return { operation, kind: counts.requests === 0 ? 'none' : 'answered', message: '' };
  } catch (error) {
    context.signal.throwIfAborted();
    const failure = error instanceof ReadFailure ? error.kind : undefined;
    // The service has looked for it.
    if (failure === 'unknown-subject') return { operation, kind: 'answered', message: '' };
    const kind = counts.requests === 0 ? 'not sent' : failure === 'throttled' ? 'throttled' : 'failed';
    return { operation, kind, message: messageOf(error) };
  }
}

/** Requests the last day, or the first page of something recent that the lake has a list of. */
async function requestPage(
  pipeline: FinancesPipeline,
  reading: Reading<FinancesUpstream>,
  { lake, account, settings }: ExaminedAccount,
  now: number,
): Promise<void> {
  const end = latestBound(now, settings.marginMinutes);
  const { slicing } = pipeline;
  let slice;
  if (slicing.loadKeyKind === 'window') slice = windowSlice({ start: end - dayMs, end });
  else if (lake !== undefined) {
    const range = { start: end - recentDays * dayMs, end };
    const orders = [...lake.snapshot.keysOf(account, pipeline.name).keys()].flatMap(
      (key) => nameIn('order', key) ?? [],
    );
    const job: Job = { kind: 'backfill', account, range, lake, refresh: true, orders: orders.slice(0, 1) };
    const prepared = await slicing.prepare?.(job, reading);
    // The preparation may have sent a request.
    if (reading.counts.requests === 0) slice = slicing.sliceQueue(job, prepared).next(1);
  }
  if (slice === undefined) return;
  const pages = pipeline.pages(slice, reading)[Symbol.asyncIterator]();
  await pages.next();
  await pages.return?.();
}

/** Adds a finding for what was answered, and one for each kind of failure. */
function addOutcomes(
  outcomes: readonly RequestOutcome[],
  { account, source }: { readonly account: string; readonly source: string },
  add: AddFinding,
): void {
  const namesOf = (outcomes: readonly RequestOutcome[]): string =>
    outcomes.map(({ operation }) => operation).join(', ');
  const ofKind = (kind: RequestOutcome['kind']): RequestOutcome[] =>
    outcomes.filter((outcome) => outcome.kind === kind);
  const answered = ofKind('answered');
  if (answered.length > 0) {
    add({ state: 'ok', found: `${account}: ${source} answered ${namesOf(answered)}` });
  }
  const unsent = ofKind('not sent');
  if (unsent.length > 0) {
    const found = `${account}: ${namesOf(unsent)} not requested, as a run has used up the quota; try again later`;
    add({ state: 'warning', found });
  }
  const failed = [...ofKind('throttled'), ...ofKind('failed')];
  const alike = groupBy(failed, ({ operation, message }) => message.replaceAll(operation, ''));
  for (const [{ kind, message } = { kind: 'failed', message: '' }, ...others] of alike.values()) {
    const text = others.length === 0 ? message : `${message.replace(/\.?$/, '.')} The same of ${namesOf(others)}.`;
    add({ state: kind === 'throttled' ? 'warning' : 'fault', found: `${account}: ${text}` });
  }
}
