import type { Cell, Column, Rows } from '../../core/text/rows.js';
import type { Window } from '../../core/windows.js';
import type { PipelinePlan, Plan } from './plan-lake.js';

/** A plan with what it is of. */
export interface PlanReport extends Plan {
  /** As the user wrote it. */
  readonly lake: string;
  readonly account: string;
  readonly range: Window;
  /** Requests that were sent to know more; undefined: nothing was to be asked. */
  readonly probed: number | undefined;
}

/** What is told of a pipeline, under names that stay. */
const fields: readonly (readonly [Column, (plan: PipelinePlan) => Cell | undefined])[] = [
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
  [{ name: 'held_slices', kind: 'number' }, ({ held }) => held.units],
  [{ name: 'held_days', kind: 'number' }, ({ held }) => held.days && Math.round(held.days * 100) / 100],
  [{ name: 'held_events', kind: 'number' }, ({ held }) => held.events],
];

export const planColumns: readonly Column[] = fields.map(([column]) => column);

/** A row for each pipeline. */
export function planRows({ pipelines }: Plan): Rows {
  return pipelines.map((plan) => fields.map(([, cellOf]) => cellOf(plan) ?? null));
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
    from: new Date(range.start).toISOString(),
    to: new Date(range.end).toISOString(),
    known: isKnown,
    requests,
    seconds: roundedSeconds(seconds) ?? null,
    probe_requests: probed ?? 0,
  };
}

function objectOf(plan: PipelinePlan): Record<string, Cell> {
  return Object.fromEntries(fields.map(([{ name }, cellOf]) => [name, cellOf(plan) ?? null]));
}

function roundedSeconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 10) / 10;
}
