import type { LoadKeyKind } from '../../lake/catalog/load-key.js';
import { defaultPipelines, pipelineNamed, roles } from '../../../pipelines/all-pipelines.js';
import { spanOf, type Window } from '../../core/windows.js';
import { endpointToName, newestRun, type LastRun, type LastRuns } from '../../lake/upkeep/last-run.js';
import type { Lease } from '../../lake/leases.js';
import { apis, defaultApi, type Api } from '../../sources/finances/api-names.js';
import { loadCommand, type LoadArguments } from '../command-text.js';
import { accountPattern, demoAccount } from '../configuration/account.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import type { OptionalSettings } from '../configuration/settings.js';
import type { UnfinishedRange } from '../coverage/unfinished-ranges.js';

/** A command to be pasted into a shell, and the options that only the user can add. */
export interface Suggestion {
  /** Undefined: the account is not configured, so that there is none. */
  readonly command: string | undefined;
  /** Each as `beside the --endpoint …`. */
  readonly additions: readonly string[];
}

/** What commands are computed from. */
export interface SuggestionContext extends OptionalSettings<'api' | 'pipelineFolder'> {
  /** The lake as the command line names it. */
  readonly location: string;
  /** Of accounts that may be shown. */
  readonly lastRuns: LastRuns;
  /** The ranges of any account that runs were asked for and have not loaded. */
  readonly unfinishedRanges?: readonly UnfinishedRange[];
  /** The configuration file, if the command line names one. */
  readonly config?: string | undefined;
  /** Accounts that the configuration has an endpoint for. */
  readonly configured?: readonly string[] | undefined;
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
  const earlierRuns: EarlierRun[] = leases.flatMap(({ startedAt, purpose }) =>
    purpose?.account === undefined ? [] : [{ ...purpose, account: purpose.account, startedAt }],
  );
  for (const lastRun of context.lastRuns.values()) {
    const { command, account: whose, startedAt, requested = [] } = lastRun;
    const range = command === 'backfill' ? { range: requestedRange(lastRun) } : {};
    earlierRuns.push({ command, account: whose, startedAt: Date.parse(startedAt), pipelines: requested, ...range });
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
  const { command, additions } = suggestion(first, target, newest?.pipelines ?? [], context, { range });
  const hasUnknownRange = newest?.command === 'backfill' && range === undefined;
  return {
    command,
    additions: [...additions, ...(hasUnknownRange ? ['beside its --from and --to, if it had any'] : [])],
  };
}

/** The ranges that backfills of an account have noted as asked for; undefined without a note. */
function notedRange(account: string, { unfinishedRanges = [] }: SuggestionContext): Window | undefined {
  const noted = unfinishedRanges.filter((range) => range.account === account && range.command === 'backfill');
  return noted.length === 0 ? undefined : spanOf(noted);
}

/**
 * The command that begins to load an account which the lake lacks: with the API of its last run, else of that of any account, if
 * that had a default set.
 */
export function firstSync(account: string, context: SuggestionContext): Suggestion {
  const { lastRuns } = context;
  const { requested = [] } = lastRuns.get(account) ?? newestRun(lastRuns) ?? {};
  return suggestion(
    'sync',
    account,
    pipelineArguments(requested, undefined).pipelines.length === 0 ? requested : [],
    context,
  );
}

/** The command that brings an account of a lake up to date. */
export function nextSync(
  {
    account,
    pipelines,
    unfinished,
    reports,
  }: {
    readonly account: string;
    readonly pipelines: readonly {
      readonly pipeline: string;
      readonly loadKeyKind: LoadKeyKind;
      readonly takenOut: readonly string[];
    }[];
    readonly unfinished: readonly string[];
    readonly reports?: { readonly listedAt: number | undefined } | undefined;
  },
  context: SuggestionContext,
): Suggestion {
  const isReports = ({ pipeline }: { readonly pipeline: string }) => pipeline === roles.reports.name;
  const synced = pipelines.filter(({ loadKeyKind }) => loadKeyKind !== 'order');
  const others = synced.filter((pipeline) => !isReports(pipeline));
  const notBegun = unfinished.filter((name) => pipelineNamed(name)?.slicing.loadKeyKind !== 'order');
  const namesOf = (some: typeof synced) => [...some.map(({ pipeline }) => pipeline), ...notBegun];
  const isUnnamed = pipelineArguments(namesOf(others), context.api).pipelines.length === 0;
  // A sync without names loads them too, where some are from the service or were taken out.
  const isNamed =
    others.length === 0
      ? reports?.listedAt !== undefined
      : !isUnnamed && synced.some((pipeline) => isReports(pipeline) && pipeline.takenOut.length > 0);
  return suggestion('sync', account, namesOf(isNamed ? synced : others), context);
}

/**
 * The command that loads pipelines of an account, by their names.
 *
 * @param named arguments that it names otherwise
 */
export function suggestion(
  command: 'backfill' | 'sync',
  account: string,
  names: readonly string[],
  { location, pipelineFolder, config, configured = [], lastRuns, api }: SuggestionContext,
  named: Partial<LoadArguments> = {},
): Suggestion {
  const custom = names.filter((name) => pipelineNamed(name) === undefined);
  const isCustomOnly = names.length > 0 && custom.length === names.length;
  const lacksEndpoint = !isCustomOnly && needsEndpoint(account, lastRuns, configured);
  if (lacksEndpoint && configured.length > 0) {
    const unconfigured = `${account} is not configured: add it to the configuration, or name its --endpoint`;
    return { command: undefined, additions: [unconfigured] };
  }
  return {
    command: loadCommand(command, {
      ...pipelineArguments(names, api),
      lake: location,
      account,
      endpoint: isCustomOnly ? undefined : endpointToName(lastRuns, account),
      pipelineFolder: custom.length > 0 ? pipelineFolder : undefined,
      config,
      ...named,
    }),
    additions: [
      ...(lacksEndpoint ? ['beside the --endpoint that serves the account'] : []),
      ...(custom.length > 0 && pipelineFolder === undefined
        ? [`beside the --pipelines that defines ${custom.join(', ')}, unless it is configured`]
        : []),
      ...(names.some((name) => pipelineNamed(name)?.slicing.loadKeyKind === 'order') ? ['beside its --orders'] : []),
    ],
  };
}

/** Whether a load of an account needs `--endpoint`; `configured`: accounts whose upstream the configuration names. */
export function needsEndpoint(account: string, lastRuns: LastRuns, configured: readonly string[] = []): boolean {
  return account !== demoAccount && !configured.includes(account) && endpointToName(lastRuns, account) === undefined;
}

/** The range that a run was asked for. */
export function requestedRange({ from, to }: LastRun): Window {
  return { start: Date.parse(from), end: Date.parse(to) };
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
