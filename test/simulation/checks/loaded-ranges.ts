import { latestBound } from '../../../src/app/configuration/range.js';
import { dayMs, uncovered, type Window } from '../../../src/core/windows.js';
import { Violation } from '../../lake/simulation/violation.js';
import type { Launch, Simulation } from '../play.js';
import type { Process } from '../world/world.js';

/** Days that a sync goes back for a gap. */
const backDays = 80;

/** A run that ends well has loaded what it was asked for. */
export function checkLoaded(
  { watch, plan, firstDay }: Pick<Simulation, 'watch' | 'plan' | 'firstDay'>,
  { account, pipelines, command, label }: Launch,
  { startedAt, machine }: Process,
): void {
  if (pipelines.length > 0 && !pipelines.includes('financial-events')) return;
  const commands = plan.steps.flatMap((step) => [
    step.command,
    ...(step.beside === undefined ? [] : [step.beside.command]),
  ]);
  // What is forgotten isn't loaded again, and what is damaged is a gap.
  if (commands.some(({ kind }) => kind === 'forget' || kind === 'damage')) return;
  const loaded = [...watch.truth.keysOf(account, 'financial-events').values()].flatMap(
    ({ window, origin }): Window[] => (window === undefined || origin === 'import' ? [] : [window]),
  );
  const end = latestBound(startedAt + machine.offsetMs);
  const range = rangeOf(command, { firstDay, end, loaded });
  if (range === undefined) return;
  const [gap] = uncovered(
    range,
    loaded.toSorted((a, b) => a.start - b.start),
  );
  if (gap === undefined) return;
  const [from, to] = [gap.start, gap.end].map((instant) => new Date(instant).toISOString());
  throw new Violation(`${label} has ended well and left out ${from} to ${to} of ${account}`);
}

function rangeOf(
  command: Launch['command'],
  { firstDay, end, loaded }: { readonly firstDay: number; readonly end: number; readonly loaded: readonly Window[] },
): Window | undefined {
  if (command.kind === 'backfill') {
    const start = firstDay + command.fromDay * dayMs;
    const range = { start, end: Math.min(start + command.days * dayMs, end) };
    return range.start < range.end ? range : undefined;
  }
  if (command.kind !== 'sync' && command.kind !== 'retention') return undefined;
  const first = Math.min(...loaded.map(({ start }) => start), end);
  return { start: Math.min(Math.max(first, end - backDays * dayMs), end - 1000), end };
}
