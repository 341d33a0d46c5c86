import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import type { ResultCell, ResultColumn, ResultRows } from '../../core/text/rows.js';
import { printable } from '../../core/printable.js';
import { alignedLines, wrapWords } from '../../core/text/width.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { dayMs, type Window } from '../../core/windows.js';
import { instantText, loadCommand, type LoadArguments } from '../command-text.js';
import { demoAccount } from '../configuration/account.js';
import type { PipelinePlan, Plan } from './estimate.js';

/** A plan with what it is of. */
export interface PlanReport extends Plan {
  /** As the user wrote it. */
  readonly lake: string;
  readonly account: string;
  readonly range: Window;
  /** The other arguments of the user, for a command that shows more. */
  readonly asked: Omit<LoadArguments, 'lake' | 'account' | 'range'>;
  /** Whether the first pages of custom pipelines follow. */
  readonly showsFirstPages: boolean;
  /** Requests that were sent to know more; undefined: nothing was to be asked. */
  readonly probed: number | undefined;
  /** Windows that these found empty, by pipeline. */
  readonly empty: ReadonlyMap<string, readonly Window[]>;
}

/** The fields of a pipeline, under names that stay. */
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
export function planRows({ account, pipelines }: PlanReport): ResultRows {
  return pipelines.map((plan) => [...fields.map(([, cellOf]) => cellOf(plan) ?? null), account]);
}

/** The plan for programs. */
export function planObject(report: PlanReport): unknown {
  return { ...headOf(report), pipelines: report.pipelines.map(objectOf) };
}

/**
 * The same in the shape of a run's summary (see `summaryJson`), for programs that read either: `status` is `planned`, and
 * what a run would count is what is expected of it; null where that isn't known.
 */
export function planSummary(report: PlanReport): unknown {
  const pipelines = report.pipelines.map((plan) => {
    const { pipeline, requests, fileBytes = null } = plan;
    const counted = { retries: 0, throttled: 0, pages: requests, entries: null, bytes: fileBytes };
    return [pipeline, { ...objectOf(plan), ...counted }] as const;
  });
  return { status: 'planned', ...headOf(report), pipelines: Object.fromEntries(pipelines) };
}

function headOf({ lake, account, range, isKnown, requests, seconds, probed }: PlanReport) {
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

/** Cells of a line. */
const widest = 80;

/** A plan for people: a column for each pipeline, how long all of it takes, and what isn't certain. */
export function planText(report: PlanReport): string {
  const { pipelines, lake, account, range, isKnown } = report;
  const what = `${instantText(range.start)} to ${instantText(range.end)} for ${printable(account)}`;
  const isDone = isKnown && pipelines.every(({ slices }) => slices === 0);
  const lines = isDone
    ? [`Nothing to do: ${printable(lake)} already has ${what}. --refresh reads it again.`]
    : [
        `Loading ${what} into ${printable(lake)} would be`,
        '',
        ...alignedLines(rowsOf(report)),
        '',
        totalLine(report),
        ...notes(report),
      ];
  return `${lines.join('\n')}\n`;
}

function rowsOf({ pipelines, range }: PlanReport): string[][] {
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

function totalLine({ requests, seconds, isKnown }: PlanReport): string {
  const all = `${isKnown ? '' : 'at least '}${formatCount(requests, 'request')}`;
  if (seconds === undefined) return `In all ${all}; without a quota the time depends on the answers.`;
  if (seconds === 0 && !isKnown) return `In all ${all}.`;
  return `In all ${all}, in ${isKnown ? '' : 'at least '}${formatSpan(seconds * 1000)}.`;
}

/** An estimate is rough where there are more than so many days to load for each that it goes by. */
const thin = 2;

function notes(report: PlanReport): string[] {
  const { pipelines, isKnown, probed, empty, range, account } = report;
  const lines: string[] = [];
  for (const { pipeline, basis, holding, refinedBy } of pipelines) {
    const left = (range.end - range.start) / dayMs - (holding.days ?? 0);
    if (basis === undefined || (basis.emptyBefore === undefined && basis.days * thin >= left)) continue;
    const { days, emptyBefore } = basis;
    const why = emptyBefore === undefined ? '' : `, because those loaded before ${instantText(emptyBefore)} are empty`;
    lines.push(
      `Rough: ${printable(pipeline)} is estimated from ${formatDays(days)} loaded ${days === 1 ? 'day' : 'days'}${why}, for ${formatDays(left)} days to ` +
        `load. Load a week near their end${refinedBy === 'probe' && probed === undefined ? ', or run plan --probe,' : ''} for a better estimate.`,
    );
  }
  for (const { unlisted, slices } of pipelines) {
    if (unlisted === 0) continue;
    const estimated = `${formatCount(unlisted)} of ${formatCount(slices, 'group')}`;
    lines.push(`Estimated: ${estimated}, from the intervals of the listed ones; they are not listed yet.`);
  }
  const unknown = pipelines.filter((plan) => !plan.isKnown);
  const toProbe = probed === undefined ? unknown.filter(({ refinedBy }) => refinedBy === 'probe') : [];
  const toShow = report.showsFirstPages ? [] : unknown.filter(({ refinedBy }) => refinedBy === 'first page');
  if (!isKnown) {
    const how = toProbe.length > 0 ? ', or request a few pages from the service' : '';
    lines.push(
      `The lake has no data to estimate ${listOf(namesOf(unknown))}: ≥ marks a minimum. ` +
        `For an estimate, load a week first${how}.`,
    );
  } else if (pipelines.some(({ slices, fileBytes }) => slices > 0 && fileBytes === undefined)) {
    lines.push('? marks what the lake has no example of yet; load a week to estimate it.');
  }
  if (probed !== undefined) {
    lines.push(
      probed === 0
        ? `No request was sent${isKnown ? ': the lake was sufficient' : ''}.`
        : `${formatCount(probed, 'request')} sent for this estimate; from one page it is rough.`,
    );
  }
  for (const [pipeline, windows] of empty) {
    const spans = windows.map(({ start, end }) => `${instantText(start)} to ${instantText(end)}`);
    lines.push(`The service has nothing of ${printable(pipeline)} for ${listOf(spans)}.`);
  }
  if (account === demoAccount)
    lines.push(
      `${demoAccount} is a made-up seller with about 100 days of sales: --account names yours, once it is configured.`,
    );
  const { pipelines: asked } = report.asked;
  const named = toProbe.filter(({ pipeline }) => asked.includes(pipeline));
  // One that was named may need another one.
  const chosen = asked.length > 0 && named.length === 0 ? toProbe : named;
  return [
    ...(lines.length === 0 ? [] : ['', ...lines.flatMap((line) => wrapWords(line, widest))]),
    ...(toProbe.length > 0 ? [commandFor('plan --probe', chosen, report)] : []),
    ...(toShow.length === 0
      ? []
      : [
          ...wrapWords(
            `A custom pipeline cannot be probed; this shows the first page of ${listOf(namesOf(toShow))}:`,
            widest,
          ),
          commandFor('backfill --dry-run', toShow, report),
        ]),
  ];
}

/** A command that shows more of the named pipelines; none: of the default set. */
function commandFor(
  command: 'plan --probe' | 'backfill --dry-run',
  plans: readonly PipelinePlan[],
  { lake, account, range, asked }: PlanReport,
): string {
  return `  ${printable(loadCommand(command, { ...asked, pipelines: namesOf(plans), lake, account, range }))}`;
}

function namesOf(plans: readonly PipelinePlan[]): string[] {
  return plans.map(({ pipeline }) => pipeline);
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}
