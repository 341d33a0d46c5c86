import { expect, test } from 'vitest';
import { seed, trialsOf } from '../campaign.js';
import {
  type Killable,
  killables,
  killed,
  killPoints,
  undisturbed,
  type KillPoint,
  type Survived,
} from '../engine/run/kill-trials.js';

/** Lakes; two kills of each, then a run to the end. */
const lakes: readonly (readonly [keyof typeof killables, number])[] = [
  ['backfill', trialsOf('LAKES', 65)],
  ['backfill of transactions', trialsOf('LAKES', 15)],
  ['sync of transactions that were deferred and are released', trialsOf('LAKES', 20)],
];

test.each(lakes)(`%s, killed twice on each of %d lakes (LEDGERLAKE_TEST_SEED=${seed})`, async (name, count) => {
  const kills = 2 * count;
  const of: Killable = killables[name];
  const wanted = await undisturbed(of);
  try {
    const points = killPoints(seed, kills, wanted);
    const pairs = Array.from({ length: count }, (_, index) => points.slice(2 * index, 2 * index + 2));
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
    // Points behind a run's end kill nothing; most lie before it, but of a few it may be any.
    expect(dead).toBeGreaterThan(count < 10 ? 0 : kills / 2);
  } finally {
    await wanted.remove();
  }

  async function tried(trial: readonly KillPoint[]): Promise<Survived> {
    return killed(wanted, trial).catch((error: unknown) => {
      throw new Error(`seed ${seed}, ${JSON.stringify(trial)}`, { cause: error });
    });
  }
});
