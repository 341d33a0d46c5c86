import type { Cell, Column, Rows } from '../output/rows.js';
import type { Window } from '../run/windows.js';
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
  return {
    lake: report.lake,
    account: report.account,
    from: new Date(report.range.start).toISOString(),
    to: new Date(report.range.end).toISOString(),
    known: report.isKnown,
    requests: report.requests,
    seconds: roundedSeconds(report.seconds) ?? null,
    probe_requests: report.probed ?? 0,
    pipelines: report.pipelines.map((plan) =>
      Object.fromEntries(fields.map(([{ name }, cellOf]) => [name, cellOf(plan) ?? null])),
    ),
  };
}

function roundedSeconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 10) / 10;
}
