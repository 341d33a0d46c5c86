import { randomOf } from '../lake/simulation/random.js';
import { checkFailure, type Simulation } from './play.js';
import type { Step } from './plan.js';
import { noStoreFaults } from './world/store.js';

/** Damages a file of the lake, and repairs the lake: again where a call of the store has failed. */
export async function damage(
  simulation: Simulation,
  what: 'publication' | 'commit' | 'data',
  step: Step,
  label: string,
): Promise<void> {
  const { store, watch, world } = simulation;
  const random = randomOf(step.seed);
  const { truth } = watch;
  if (truth.version < 1) return;
  if (what === 'data') {
    const files = [...truth.files('events')];
    if (files.length === 0) return;
    const path = random.pick(files).lakePath;
    watch.damaged.add(path);
    store.files.set(path, Buffer.from('damaged'));
    world.note(`${path} is damaged`);
  } else {
    const pattern = what === 'commit' ? /^_catalog\/\d{20}\.json$/ : /^events\/_delta_log\/\d{20}\.json$/;
    const found = [...store.files.keys()].filter((path) => pattern.test(path)).toSorted();
    // Stubs have no publications.
    const recent = found.slice(-5);
    if (recent.length === 0) return;
    const path = random.pick(recent);
    watch.damaged.add(path);
    store.files.set(path, Buffer.from('damaged'));
    world.note(`${path} is damaged`);
  }
  for (const [name, faults] of [
    ['repair', step.store],
    ['second repair', noStoreFaults],
  ] as const) {
    const repair = { ...step, store: faults, crash: undefined };
    const failure = await world.play(
      simulation.start({ ...repair, label: `${label} ${name}`, command: { kind: 'repair' } }),
    );
    checkFailure(failure, repair, simulation);
    if (failure === undefined) return;
  }
}
