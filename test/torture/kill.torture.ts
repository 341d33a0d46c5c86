import { expect, test } from 'vitest';
import {
  type Killable,
  killables,
  killed,
  killPoints,
  undisturbed,
  type KillPoint,
  type Survived,
} from '../engine/run/kill-trials.js';

/** Two kills a lake, then a run to the end. */
const trials: readonly (readonly [keyof typeof killables, number])[] = [
  ['backfill', 130],
  ['backfill of transactions', 30],
  ['sync of transactions that were deferred and are released', 40],
];
const seed = Number(process.env['LEDGERLAKE_TEST_SEED'] ?? Date.now() % 1e9);

test.each(trials)(`%s, killed at %d points (LEDGERLAKE_TEST_SEED=${seed})`, async (name, kills) => {
  const of: Killable = killables[name];
  const wanted = await undisturbed(of);
  try {
    const points = killPoints(seed, kills, wanted);
    const pairs = Array.from({ length: kills / 2 }, (_, index) => points.slice(2 * index, 2 * index + 2));
    const results: Survived[] = [];
    const worker = async (): Promise<void> => {
      for (let trial = pairs.shift(); trial !== undefined; trial = pairs.shift()) results.push(await tried(trial));
    };
    await Promise.all([worker(), worker()]);
    const repeated = results.map((result) => result.repeated);
    const dead = results.reduce((sum, result) => sum + result.killed, 0);
    console.log(
      `${name}: kill points tried: ${kills}, runs that died: ${dead}, lakes that differed: 0, requests repeated for two kills: ` +
        `${(repeated.reduce((sum, count) => sum + count, 0) / repeated.length).toFixed(1)} on average, ` +
        `${Math.max(...repeated)} at most, of ${wanted.asked.length}`,
    );
    // Points behind a run's end kill nothing; most lie before it.
    expect(dead).toBeGreaterThan(kills / 2);
  } finally {
    await wanted.remove();
  }

  async function tried(trial: readonly KillPoint[]): Promise<Survived> {
    return killed(wanted, trial).catch((error: unknown) => {
      throw new Error(`seed ${seed}, ${JSON.stringify(trial)}`, { cause: error });
    });
  }
});
