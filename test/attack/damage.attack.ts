import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seed, sharedOut, trialsOf } from '../campaign.js';
import { CommandProcess } from './command-process.js';
import { damageTrial, heldBy, lostLogTrial, someDamages, type Held, type Trial } from './damage-trial.js';
import { damageKinds, fileKinds, logDamages, replaceFile } from './damages.js';
import { seedLakes } from './seed-lakes.js';

/** LEDGERLAKE_TEST_DAMAGES=5000 is the whole campaign. */
const trials = trialsOf('DAMAGES', 300);
/** Parquet files that are replaced by foreign and damaged ones. */
const replaced = trialsOf('REPLACED', 100);
/** LEDGERLAKE_TEST_ONLY='both' damages the lakes whose name the pattern fits. */
const only = new RegExp(process.env['LEDGERLAKE_TEST_ONLY'] ?? '');
const hangMs = 60_000;

test(`${trials + replaced} damages of a lake (LEDGERLAKE_TEST_SEED=${seed}): no row lost or doubled, none unseen`, async () => {
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
    type Work = (process: CommandProcess, copy: string) => Promise<Trial>;
    const works: readonly Work[] = [
      ...lostLogs.map(
        ({ held, damage }): Work =>
          (process, copy) =>
            lostLogTrial(seed, held, damage, process, copy),
      ),
      ...Array.from(
        { length: trials },
        (_, at): Work =>
          (process, copy) =>
            damageTrial(seed + at, someDamages, lakes, process, copy),
      ),
      ...Array.from(
        { length: replaced },
        (_, at): Work =>
          (process, copy) =>
            damageTrial(seed + at, replaceFile, lakes, process, copy),
      ),
    ];
    const done: Trial[] = [];
    let next = 0;
    const run = async (process: CommandProcess): Promise<void> => {
      for (let work = works[next]; work !== undefined; work = works[next]) {
        const trial = await work(process, join(seeds.folder, String(next++)));
        done.push(trial);
        if (trial.fault !== undefined) console.log(told(trial));
        if (done.length % 250 === 0) console.log(tally(done));
      }
    };
    await Promise.all(processes.map(run));
    console.log(tally(done));
    expect(done.filter(({ fault }) => fault !== undefined).map(told)).toEqual([]);
  } finally {
    for (const process of processes) process.close();
    await seeds.close();
  }
});

function told({ seed: own, lake, damage, fault, commands }: Trial): string {
  const [damages, files] = damage.kind === 'replace' ? [0, 1] : [1, 0];
  const variables = `LEDGERLAKE_TEST_SEED=${own} LEDGERLAKE_TEST_DAMAGES=${damages} LEDGERLAKE_TEST_REPLACED=${files}`;
  return `${variables}: ${lake}: ${damage.text}\n  ${commands.join('\n  ')}\n  ${fault ?? ''}`;
}

const columns = [...damageKinds, 'replace'] as const;

/** Tried and held, by kind of file and of damage. */
function tally(done: readonly Trial[]): string {
  const cell = (of: readonly Trial[]): string =>
    `${of.length}/${of.filter(({ fault }) => fault === undefined).length}`.padStart(11);
  const rows = fileKinds.flatMap((file) => {
    const own = done.filter(({ damage }) => damage.file === file);
    if (own.length === 0) return [];
    const cells = columns.map((kind) => cell(own.filter(({ damage }) => damage.kind === kind)));
    return [`${file.padEnd(16)}${cells.join('')}${cell(own)}`];
  });
  const showed = done.filter(({ showed: isSeen }) => isSeen).length;
  return [
    `${done.length} damages, ${showed} of which changed what is read; tried/held:`,
    `${''.padEnd(16)}${[...columns, 'all'].map((kind) => kind.padStart(11)).join('')}`,
    ...rows,
    `${'all'.padEnd(16)}${columns.map((kind) => cell(done.filter(({ damage }) => damage.kind === kind))).join('')}${cell(done)}`,
  ].join('\n');
}
