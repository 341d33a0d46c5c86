import { dayMs, hourMs, type Window } from '../../src/core/windows.js';
import { Violation } from '../lake/simulation/violation.js';
import { multisetOf } from './world/answers.js';
import { checkDoubles, compareKnown, verifyAtTheEnd } from './checks/final-checks.js';
import { checkFailure, type Simulation } from './play.js';
import { noStoreFaults } from './world/store.js';

const calm = { upstream: [], store: noStoreFaults, beside: undefined, crash: undefined, seed: 1, machine: 0 } as const;

/** The end of a seed: all is loaded once more without any fault, and compared with the sellers' backends. */
export async function closing(simulation: Simulation): Promise<void> {
  const { world, machines, requestWatch, plan, upstreams, rowWatch, watch, firstDay } = simulation;
  requestWatch.active = new Set();
  for (const machine of machines) machine.offsetMs = 0;
  // What is late has come by then, and what was on its way to the store, too.
  const end = Math.floor(world.now() / dayMs) * dayMs;
  await world.pass(Math.max(...plan.sellers.map(({ mostDays }) => mostDays)) * dayMs + 3 * dayMs + 6 * hourMs);
  const days = (end - firstDay) / dayMs;
  const range = { fromDay: -plan.history, days: plan.history + days };
  const number = plan.steps.length;
  const isUsed = (name: string) => [...upstreams.keys()].some((one) => watch.truth.keysOf(one, name).size > 0);
  const pipelines = ['financial-events', ...(isUsed('transactions') ? ['transactions'] : [])];
  const launch = async (account: string, label: string, command: Parameters<Simulation['start']>[0]['command']) => {
    const run = simulation.start({ ...calm, account, pipelines, label, command, acceptEmpty: true });
    checkFailure(await world.play(run), { ...calm, number }, simulation);
  };
  await checkDoubles(simulation);
  const isWhole = plan.seed % 3 === 0;
  for (const account of upstreams.keys()) {
    // Reading all of it again takes as long as six weeks of runs.
    if (isWhole) await launch(account, `refresh of ${account}`, { kind: 'backfill', ...range, refresh: true });
    else await launch(account, `end of ${account}`, { kind: 'backfill', ...range, refresh: false });
    const before = requestWatch.requests;
    await launch(account, `second end of ${account}`, { kind: 'backfill', ...range, refresh: false });
    if (requestWatch.requests > before)
      throw new Violation(`what is loaded of ${account} is asked for again: ${requestWatch.last}`);
  }
  const [account = ''] = upstreams.keys();
  await launch(account, 'vacuum', { kind: 'retention', hours: 0 });
  await launch(account, 'last vacuum', { kind: 'retention', hours: 0 });
  watch.atTheEnd();
  await compareKnown(simulation, simulation.known);
  if (plan.seed % 4 === 0) await verifyAtTheEnd(simulation);
  for (const [name, { backend }] of upstreams) {
    const compared = [
      ['financial-events', 'events', (given: Window) => backend.texts(given, world.now())],
      ['transactions', 'transactions', (given: Window) => backend.transactionTexts(given, world.now())],
    ] as const;
    const from = forgottenBefore(simulation, name);
    for (const [pipeline, table, texts] of compared) {
      if (!pipelines.includes(pipeline)) continue;
      const windows = [...watch.truth.keysOf(name, pipeline).values()].flatMap(({ window, origin }) =>
        window === undefined || origin === 'import' || window.start >= end || window.start < from ? [] : [window],
      );
      if (windows.length === 0) continue;
      const all = { start: Math.min(...windows.map(({ start }) => start)), end };
      checkCover(windows, all, `${table} of ${name}`);
      rowWatch.checkImports(name, table, all);
      if (!isWhole) continue;
      const truth = multisetOf(await texts(all));
      const stored = rowWatch.totalWithin(name, table, all.start, all.end);
      if (stored.key() !== truth.key())
        throw new Violation(`the lake has ${stored.key()} ${table} of ${name}, its backend ${truth.key()}`);
    }
  }
}

/** What is older isn't loaded again: milliseconds since 1970. */
function forgottenBefore({ plan, firstDay }: Simulation, account: string): number {
  const forgotten = plan.steps.flatMap((step) => [step, ...(step.beside === undefined ? [] : [step.beside])]);
  const days = forgotten.map((step) =>
    step.account === account && step.command.kind === 'forget' ? (step.command.beforeDay ?? -Infinity) : -Infinity,
  );
  return firstDay + Math.max(-plan.history, ...days) * dayMs;
}

/** Each instant of the range must be in exactly one window. */
function checkCover(windows: readonly Window[], { start, end }: Window, what: string): void {
  const sorted = windows.toSorted((a, b) => a.start - b.start);
  let covered = start;
  for (const { start, end } of sorted) {
    if (start !== covered) throw new Violation(`${what}: a window begins at ${start}, expected ${covered}`);
    covered = end;
  }
  if (covered < end) throw new Violation(`${what} are loaded up to ${covered}, expected ${end}`);
}
