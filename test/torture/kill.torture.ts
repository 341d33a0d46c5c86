import { expect, test } from 'vitest';
import { killed, killPoints, undisturbed, type KillPoint, type Survived } from '../engine/run/kill-trials.js';

/** Two kills a lake, then a run to the end. */
const kills = 200;
const seed = Number(process.env['LEDGERLAKE_TEST_SEED'] ?? Date.now() % 1e9);

test(`runs killed at ${kills} points (LEDGERLAKE_TEST_SEED=${seed})`, async () => {
  const wanted = await undisturbed();
  try {
    const points = killPoints(seed, kills, wanted);
    const trials = Array.from({ length: kills / 2 }, (_, index) => points.slice(2 * index, 2 * index + 2));
    const results: Survived[] = [];
    const worker = async (): Promise<void> => {
      for (let trial = trials.shift(); trial !== undefined; trial = trials.shift()) results.push(await tried(trial));
    };
    await Promise.all([worker(), worker()]);
    const repeated = results.map((result) => result.repeated);
    const dead = results.reduce((sum, result) => sum + result.killed, 0);
    console.log(
      `kill points tried: ${kills}, runs that died: ${dead}, lakes that differed: 0, requests repeated for two kills: ` +
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
