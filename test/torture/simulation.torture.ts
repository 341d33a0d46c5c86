import { expect, test } from 'vitest';
import { sharedOut, trialsOf } from '../campaign.js';
import { mutations } from '../lake/simulation/mutations.js';
import { lineOf, simulate, type Figures } from '../lake/simulation/simulate.js';

const seeds = trialsOf('SEEDS', 3000);

test(`${seeds} runs of writers and readers on one lake`, async () => {
  const total: Record<string, number> = {};
  const failed: string[] = [];
  for (let seed = 1; seed <= seeds && failed.length < 3; seed++) {
    const outcome = await simulate(seed);
    if (outcome.failure !== undefined) failed.push(lineOf(outcome));
    for (const [name, count] of Object.entries<number>({ ...outcome.figures }))
      total[name] = (total[name] ?? 0) + count;
  }
  console.log(JSON.stringify(total satisfies Partial<Record<keyof Figures, number>>));
  expect(failed).toEqual([]);
});

test.each(sharedOut(mutations))('rule $rule: a writer that $name is found by seed $seed', async (mutation) => {
  expect((await simulate(mutation.seed, mutation)).failure).toBeInstanceOf(Error);
});
