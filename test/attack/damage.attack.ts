import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seed, sharedOut, trialsOf } from '../campaign.js';
import { CommandProcess } from './command-process.js';
import { damageTrial, heldBy, lostLogTrial, type Held, type Trial } from './damage-trial.js';
import { damageKinds, fileKinds, logDamages } from './damages.js';
import { seedLakes } from './seed-lakes.js';

/** LEDGERLAKE_TEST_DAMAGES=5000 is the whole campaign. */
const trials = trialsOf('DAMAGES', 300);
/** LEDGERLAKE_TEST_ONLY='both' damages the lakes whose name the pattern fits. */
const only = new RegExp(process.env['LEDGERLAKE_TEST_ONLY'] ?? '');
const hangMs = 60_000;

test(`${trials} damages of a lake (LEDGERLAKE_TEST_SEED=${seed}): no row lost or doubled, none unseen`, async () => {
  const seeds = await seedLakes();
  const processes = [0, 1].map(() => new CommandProcess({ ...seeds, hangMs }));
  try {
    const [first] = processes;
    const lakes: Held[] = [];
    for (const lake of seeds.lakes) {
      if (first !== undefined && only.test(lake.name)) lakes.push(await heldBy(lake, first));
    }
    // Of each lake every command, where a log is lost; then damages and commands as chance has it.
    const lostLogs = sharedOut(lakes.flatMap((held) => logDamages.map((damage) => ({ held, damage }))));
    const done: Trial[] = [];
    let next = 0;
    const work = async (process: CommandProcess): Promise<void> => {
      while (next < lostLogs.length + trials) {
        const lost = lostLogs[next];
        const own = lost === undefined ? seed + next - lostLogs.length : seed;
        const copy = join(seeds.folder, String(next++));
        const trial = await (lost === undefined
          ? damageTrial(own, lakes, process, copy)
          : lostLogTrial(own, lost.held, lost.damage, process, copy));
        done.push(trial);
        if (trial.fault !== undefined) console.log(told(trial));
        if (done.length % 250 === 0) console.log(tally(done));
      }
    };
    await Promise.all(processes.map(work));
    console.log(tally(done));
    expect(done.filter(({ fault }) => fault !== undefined).map(told)).toEqual([]);
  } finally {
    for (const process of processes) process.close();
    await seeds.close();
  }
});

function told({ seed: own, lake, damage, fault, commands }: Trial): string {
  return `LEDGERLAKE_TEST_SEED=${own} LEDGERLAKE_TEST_DAMAGES=1: ${lake}: ${damage.text}\n  ${commands.join('\n  ')}\n  ${fault ?? ''}`;
}

/** Tried and held, by kind of file and of damage. */
function tally(done: readonly Trial[]): string {
  const cell = (of: readonly Trial[]): string =>
    `${of.length}/${of.filter(({ fault }) => fault === undefined).length}`.padStart(11);
  const rows = fileKinds.flatMap((file) => {
    const own = done.filter(({ damage }) => damage.file === file);
    if (own.length === 0) return [];
    const cells = damageKinds.map((kind) => cell(own.filter(({ damage }) => damage.kind === kind)));
    return [`${file.padEnd(16)}${cells.join('')}${cell(own)}`];
  });
  const showed = done.filter(({ showed: isSeen }) => isSeen).length;
  return [
    `${done.length} damages, ${showed} of which changed what is read; tried/held:`,
    `${''.padEnd(16)}${[...damageKinds, 'all'].map((kind) => kind.padStart(11)).join('')}`,
    ...rows,
    `${'all'.padEnd(16)}${damageKinds.map((kind) => cell(done.filter(({ damage }) => damage.kind === kind))).join('')}${cell(done)}`,
  ].join('\n');
}
