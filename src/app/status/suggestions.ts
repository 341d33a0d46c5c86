import { defaultPipelines, pipelineNamed } from '../../../pipelines/all-pipelines.js';
import type { Window } from '../../core/windows.js';
import { endpointToName } from '../../lake/upkeep/last-run.js';
import type { Lease } from '../../lake/upkeep/leases.js';
import { apis, defaultApi, type Api } from '../../sources/finances/finances-apis.js';
import { loadCommand } from '../command-text.js';
import { accountPattern } from '../configuration/account.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { isUnconfigured, needsEndpoint, rangeOf, type AccountStatus, type StatusQuestion } from './lake-status.js';

/** A command to be pasted into a shell, and the options that only the user can add. */
export interface Suggestion {
  /** Undefined: the account is not configured, so that there is none. */
  readonly command: string | undefined;
  /** Each as `beside the --endpoint …`. */
  readonly additions: readonly string[];
}

export interface SuggestionContext extends Pick<
  StatusQuestion,
  'pipelineFolder' | 'config' | 'lastRun' | 'unfinishedRanges'
> {
  readonly lake: string;
  /** Accounts that the configuration has an endpoint for. */
  readonly configured?: readonly string[] | undefined;
  /** The API of commands that name none; undefined: v0. */
  readonly api?: Api | undefined;
}

interface EarlierRun {
  readonly command: string;
  readonly account: string;
  readonly startedAt: number;
  readonly pipelines: readonly string[];
  readonly range?: Window;
}

/**
 * The command that loads into an empty lake, or an account that the lake lacks: that of the newest run that began on
 * it. Undefined where no run has left a note, and no account is named.
 */
export function firstLoad(
  account: string | undefined,
  leases: readonly Lease[],
  context: SuggestionContext,
): Suggestion | undefined {
  const { lastRun } = context;
  const earlierRuns: EarlierRun[] = leases.flatMap(({ startedAt, purpose }) =>
    purpose?.account === undefined ? [] : [{ ...purpose, account: purpose.account, startedAt }],
  );
  if (lastRun !== undefined) {
    const { command, account: whose, startedAt, asked = [] } = lastRun;
    const range = command === 'backfill' ? { range: rangeOf(lastRun) } : {};
    earlierRuns.push({ command, account: whose, startedAt: Date.parse(startedAt), pipelines: asked, ...range });
  }
  const newest = earlierRuns
    // The notes of a foreign lake can contain anything: nothing of them becomes an option.
    .filter((run) => accountPattern.test(run.account) && run.pipelines.every((name) => /^\w/.test(name)))
    .filter((run) => account === undefined || run.account === account)
    .toSorted((a, b) => b.startedAt - a.startedAt)[0];
  const target = account ?? newest?.account;
  if (target === undefined) return undefined;
  const first = newest?.command === 'sync' ? 'sync' : 'backfill';
  const range = newest?.command === 'backfill' ? (newest.range ?? notedRange(target, context)) : undefined;
  const { command, additions } = suggestion(first, target, newest?.pipelines ?? [], context, range);
  const hasUnknownRange = newest?.command === 'backfill' && range === undefined;
  return {
    command,
    additions: [...additions, ...(hasUnknownRange ? ['beside its --from and --to, if it had any'] : [])],
  };
}

/** The ranges that backfills of an account have noted as asked for; undefined without a note. */
function notedRange(account: string, { unfinishedRanges = [] }: SuggestionContext): Window | undefined {
  const noted = unfinishedRanges.filter((range) => range.account === account && range.command === 'backfill');
  if (noted.length === 0) return undefined;
  return { start: Math.min(...noted.map(({ start }) => start)), end: Math.max(...noted.map(({ end }) => end)) };
}

/** The command that begins to load an account which the lake lacks: with the API of the last run, if that had a default set. */
export function firstSync(account: string, context: SuggestionContext): Suggestion {
  const asked = context.lastRun?.asked ?? [];
  return suggestion('sync', account, pipelineArguments(asked, undefined).pipelines.length === 0 ? asked : [], context);
}

/** The command that brings an account of a lake up to date. */
export function nextSync({ account, pipelines, unfinished }: AccountStatus, context: SuggestionContext): Suggestion {
  const names = pipelines.filter(({ loadKey }) => loadKey !== 'order').map(({ pipeline }) => pipeline);
  const notBegun = unfinished.filter((name) => pipelineNamed(name)?.loadKey !== 'order');
  return suggestion('sync', account, [...names, ...notBegun], context);
}

function suggestion(
  command: 'backfill' | 'sync',
  account: string,
  names: readonly string[],
  { lake, pipelineFolder, config, configured, lastRun, api }: SuggestionContext,
  range?: Window,
): Suggestion {
  const custom = names.filter((name) => pipelineNamed(name) === undefined);
  const isCustomOnly = names.length > 0 && custom.length === names.length;
  if (!isCustomOnly && isUnconfigured(account, lastRun, configured)) {
    return { command: undefined, additions: [unconfiguredText(account)] };
  }
  const endpoint = endpointToName(lastRun, account);
  return {
    command: loadCommand(command, {
      ...pipelineArguments(names, api),
      lake,
      account,
      endpoint: isCustomOnly ? undefined : endpoint,
      pipelineFolder: custom.length > 0 ? pipelineFolder : undefined,
      config,
      range,
    }),
    additions: [
      ...(!isCustomOnly && needsEndpoint(account, lastRun, configured) ? [endpointAddition] : []),
      ...(custom.length > 0 && pipelineFolder === undefined ? [pipelinesAddition(custom)] : []),
      ...(names.some((name) => pipelineNamed(name)?.loadKey === 'order') ? ['beside its --orders'] : []),
    ],
  };
}

/** The advice for an account of the lake that can't be loaded any more. */
export function unconfiguredText(account: string): string {
  return `${account} is not configured: add it to the configuration, or name its --endpoint`;
}

export const endpointAddition = 'beside the --endpoint that serves the account';

export function pipelinesAddition(custom: readonly string[]): string {
  return `beside the --pipelines that defines ${custom.join(', ')}, unless it is configured`;
}

/** The arguments that select these pipelines: none, `--api`, or their names. */
function pipelineArguments(
  names: readonly string[],
  configuredApi: Api = defaultApi,
): {
  readonly pipelines: readonly string[];
  readonly api: Api | undefined;
} {
  const api = apis.find((name) => {
    const defaults = new Set(withNeeds(defaultPipelines[name]).map((pipeline) => pipeline.name));
    return defaults.size === names.length && names.every((asked) => defaults.has(asked));
  });
  if (api === undefined) return { pipelines: names, api };
  return { pipelines: [], api: api === configuredApi ? undefined : api };
}
