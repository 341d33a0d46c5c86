import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import type { ResultCell, ResultColumn, ResultRows } from '../../core/text/rows.js';
import { printable } from '../../core/printable.js';
import { alignedLines, wrapWords } from '../../core/text/width.js';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { dayMs, type Window } from '../../core/windows.js';
import { loadCommand, type LoadArguments } from '../command-text.js';
import { demoAccount } from '../configuration/account.js';
import type { PipelinePlan, Plan } from './estimate.js';

/** A plan with its lake, account and range. */
export interface PlanOutput extends Plan {
  /** As the user wrote it. */
  readonly lake: string;
  readonly account: string;
  readonly range: Window;
  /** The other arguments of the user, for printed commands. */
  readonly asked: Omit<LoadArguments, 'lake' | 'account' | 'range'>;
  /** Whether the first pages of custom pipelines follow. */
  readonly showsFirstPages: boolean;
  /** Number of requests that probes sent; undefined: no probe was requested. */
  readonly probed: number | undefined;
  /** Windows that probes found empty, by pipeline. */
  readonly empty: ReadonlyMap<string, readonly Window[]>;
}

/** The fields of a pipeline, under stable names. */
const fields: readonly (readonly [ResultColumn, (plan: PipelinePlan) => ResultCell | undefined])[] = [
  [{ name: 'pipeline', kind: 'text' }, ({ pipeline }) => pipeline],
  [{ name: 'known', kind: 'boolean' }, ({ isKnown }) => isKnown],
  [{ name: 'slices', kind: 'number' }, ({ slices }) => slices],
  [{ name: 'requests', kind: 'number' }, ({ requests }) => requests],
  [{ name: 'seconds', kind: 'number' }, ({ seconds }) => roundedSeconds(seconds)],
  [{ name: 'events', kind: 'number' }, ({ events }) => events],
  [{ name: 'raw_bytes', kind: 'number' }, ({ rawBytes }) => rawBytes],
  [{ name: 'files', kind: 'number' }, ({ files }) => files],
  [{ name: 'file_bytes', kind: 'number' }, ({ fileBytes }) => fileBytes],
  [{ name: 'unlisted_groups', kind: 'number' }, ({ unlisted }) => unlisted],
  [{ name: 'held_slices', kind: 'number' }, ({ holding }) => holding.count],
  [{ name: 'held_days', kind: 'number' }, ({ holding: { days } }) => days && Math.round(days * 100) / 100],
  [{ name: 'held_events', kind: 'number' }, ({ holding }) => holding.results],
];

export const planColumns: readonly ResultColumn[] = [
  ...fields.map(([column]) => column),
  { name: 'account', kind: 'text' },
];

/** A row for each pipeline. */
export function planRows({ account, pipelines }: PlanOutput): ResultRows {
  return pipelines.map((plan) => [...fields.map(([, cellOf]) => cellOf(plan) ?? null), account]);
}

/** The plan for programs. */
export function planObject(report: PlanOutput): unknown {
  return { ...headOf(report), pipelines: report.pipelines.map(objectOf) };
}

/**
 * The plan in the shape of a run's summary (see `summaryObject`), for programs that read both: `status` is `planned`, and the
 * counts are the expected ones; null where unknown.
 */
export function planSummary(report: PlanOutput): unknown {
  const pipelines = report.pipelines.map((plan) => {
    const { pipeline, requests, fileBytes = null } = plan;
    const counted = { retries: 0, throttled: 0, pages: requests, entries: null, bytes: fileBytes };
    return [pipeline, { ...objectOf(plan), ...counted }] as const;
  });
  return { status: 'planned', ...headOf(report), pipelines: Object.fromEntries(pipelines) };
}

function headOf({ lake, account, range, isKnown, requests, seconds, probed }: PlanOutput) {
  return {
    lake,
    account,
    from: isoInstant(range.start),
    to: isoInstant(range.end),
    known: isKnown,
    requests,
    seconds: roundedSeconds(seconds) ?? null,
    probe_requests: probed ?? 0,
  };
}

function objectOf(plan: PipelinePlan): Record<string, ResultCell> {
  return Object.fromEntries(fields.map(([{ name }, cellOf]) => [name, cellOf(plan) ?? null]));
}

function roundedSeconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 10) / 10;
}

/** Width of a line in cells. */
const widest = 80;

/** The plan for people: a column for each pipeline, the total time, and notes about what is uncertain. */
export function planText(report: PlanOutput): string {
  const { pipelines, lake, account, range, isKnown } = report;
  const what = `${dateOrInstant(range.start)} to ${dateOrInstant(range.end)} for ${printable(account)}`;
  const isDone = isKnown && pipelines.every(({ slices }) => slices === 0);
  const lines = isDone
    ? [`Nothing to do: ${printable(lake)} already has ${what}. --refresh reads it again.`]
    : [
        `Loading ${what} into ${printable(lake)} would be`,
        '',
        ...alignedLines(gridRows(report)),
        '',
        totalLine(report),
        ...notes(report),
      ];
  return `${lines.join('\n')}\n`;
}

function gridRows({ pipelines, range }: PlanOutput): string[][] {
  const days = (range.end - range.start) / dayMs;
  const row = (name: string, cellOf: (plan: PipelinePlan) => string): string[] => [name, ...pipelines.map(cellOf)];
  return [
    row('', ({ pipeline }) => printable(pipeline)),
    row('slices', (plan) => atLeast(plan, formatCount(plan.slices))),
    row('requests', (plan) => atLeast(plan, formatCount(plan.requests))),
    row('time', timeText),
    row('events', ({ events }) => known(events, formatCount)),
    row('answers', ({ rawBytes }) => known(rawBytes, formatBytes)),
    row('files', ({ files }) => known(files, formatCount)),
    row('on disk', ({ fileBytes }) => known(fileBytes, formatBytes)),
    row('held', ({ holding }) =>
      holding.days === null ? formatCount(holding.count) : `${formatDays(holding.days)} of ${formatDays(days)} d`,
    ),
    row('  events', ({ holding }) => formatCount(holding.results)),
  ];
}

function timeText(plan: PipelinePlan): string {
  if (plan.seconds === undefined) return '-';
  return plan.seconds === 0 && !plan.isKnown ? '?' : atLeast(plan, formatSpan(plan.seconds * 1000));
}

function atLeast({ isKnown }: PipelinePlan, text: string): string {
  return isKnown ? text : `≥ ${text}`;
}

function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '?' : format(value);
}

function formatDays(days: number): string {
  return formatCount(Math.round(days * 10) / 10);
}

function totalLine({ requests, seconds, isKnown }: PlanOutput): string {
  const all = `${isKnown ? '' : 'at least '}${formatCount(requests, 'request')}`;
  if (seconds === undefined) return `In all ${all}; without a quota the time depends on the answers.`;
  if (seconds === 0 && !isKnown) return `In all ${all}.`;
  return `In all ${all}, in ${isKnown ? '' : 'at least '}${formatSpan(seconds * 1000)}.`;
}

/** Days to load for each loaded day above which an estimate is rough. */
const roughRatio = 2;

/** What is uncertain in a plan, and the commands that show more. */
function notes(report: PlanOutput): string[] {
  const { pipelines, probed } = report;
  const unknown = pipelines.filter((plan) => !plan.isKnown);
  const toProbe = probed === undefined ? unknown.filter(({ refinedBy }) => refinedBy === 'probe') : [];
  const toShow = report.showsFirstPages ? [] : unknown.filter(({ refinedBy }) => refinedBy === 'first page');
  const lines = [
    ...roughNotes(report),
    ...unlistedNotes(report),
    ...unknownNotes(report, unknown, toProbe),
    ...probeNotes(report),
    ...demoNotes(report),
  ];
  const { pipelines: asked } = report.asked;
  const named = toProbe.filter(({ pipeline }) => asked.includes(pipeline));
  // A named pipeline may need one that isn't named.
  const chosen = asked.length > 0 && named.length === 0 ? toProbe : named;
  return [
    ...(lines.length === 0 ? [] : ['', ...lines.flatMap((line) => wrapWords(line, widest))]),
    ...(toProbe.length > 0 ? [commandFor('plan --probe', chosen, report)] : []),
    ...(toShow.length > 0 ? firstPageNotes(report, toShow) : []),
  ];
}

/** Notes about estimates from few loaded days. */
function roughNotes({ pipelines, probed, range }: PlanOutput): string[] {
  return pipelines.flatMap(({ pipeline, basis, holding, refinedBy }) => {
    const left = (range.end - range.start) / dayMs - (holding.days ?? 0);
    if (basis === undefined || (basis.emptyBefore === undefined && basis.days * roughRatio >= left)) return [];
    const { days, emptyBefore } = basis;
    const why =
      emptyBefore === undefined ? '' : `, because those loaded before ${dateOrInstant(emptyBefore)} are empty`;
    return [
      `Rough: ${printable(pipeline)} is estimated from ${formatDays(days)} loaded ${days === 1 ? 'day' : 'days'}${why}, for ${formatDays(left)} days to ` +
        `load. Load a week near their end${refinedBy === 'probe' && probed === undefined ? ', or run plan --probe,' : ''} for a better estimate.`,
    ];
  });
}

/** Notes about settlements that aren't listed yet. */
function unlistedNotes({ pipelines }: PlanOutput): string[] {
  return pipelines.flatMap(({ unlisted, slices }) => {
    if (unlisted === 0) return [];
    const estimated = `${formatCount(unlisted)} of ${formatCount(slices, 'group')}`;
    return [`Estimated: ${estimated}, from the intervals of the listed ones; they are not listed yet.`];
  });
}

/** Explains the signs ≥ and ?. */
function unknownNotes(
  { isKnown, pipelines }: PlanOutput,
  unknown: readonly PipelinePlan[],
  toProbe: readonly PipelinePlan[],
): string[] {
  if (!isKnown) {
    const how = toProbe.length > 0 ? ', or request a few pages from the service' : '';
    return [
      `The lake has no data to estimate ${wordList(namesOf(unknown))}: ≥ marks a minimum. ` +
        `For an estimate, load a week first${how}.`,
    ];
  }
  return pipelines.some(({ slices, fileBytes }) => slices > 0 && fileBytes === undefined)
    ? ['? marks what the lake has no example of yet; load a week to estimate it.']
    : [];
}

/** Notes about the requests of probes, and the windows that they found empty. */
function probeNotes({ probed, isKnown, empty }: PlanOutput): string[] {
  const sent = `${formatCount(probed ?? 0, 'request')} sent for this estimate; from one page it is rough.`;
  const none = `No request was sent${isKnown ? ': the lake was sufficient' : ''}.`;
  const nothing = [...empty].map(([pipeline, windows]) => {
    const spans = windows.map(({ start, end }) => `${dateOrInstant(start)} to ${dateOrInstant(end)}`);
    return `The service has nothing of ${printable(pipeline)} for ${wordList(spans)}.`;
  });
  return [...(probed === undefined ? [] : [probed === 0 ? none : sent]), ...nothing];
}

function demoNotes({ account }: PlanOutput): string[] {
  if (account !== demoAccount) return [];
  return [
    `${demoAccount} is a synthetic seller with about 100 days of sales: --account names yours, once it is configured.`,
  ];
}

function firstPageNotes(report: PlanOutput, custom: readonly PipelinePlan[]): string[] {
  const text = `A custom pipeline cannot be probed; this shows the first page of ${wordList(namesOf(custom))}:`;
  return [...wrapWords(text, widest), commandFor('backfill --dry-run', custom, report)];
}

/** A command that shows more of these pipelines; none: of the default set. */
function commandFor(
  command: 'plan --probe' | 'backfill --dry-run',
  plans: readonly PipelinePlan[],
  { lake, account, range, asked }: PlanOutput,
): string {
  return `  ${printable(loadCommand(command, { ...asked, pipelines: namesOf(plans), lake, account, range }))}`;
}

function namesOf(plans: readonly PipelinePlan[]): string[] {
  return plans.map(({ pipeline }) => pipeline);
}

function wordList(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}
