import { expect, test } from 'vitest';
import { mutations } from './mutations.js';
import { lineOf, simulate } from './simulate.js';

/** As many as take a few seconds; `make torture` plays thousands. */
const seeds = Array.from({ length: 20 }, (_, at) => at + 1);

/** A failing run is played again by its seed. */
const given = process.env['LEDGERLAKE_TEST_SEED'];

test('writers, deaths, failures, late calls and readers leave every rule of the catalog whole', async () => {
  let commits = 0;
  for (const seed of given === undefined ? seeds : [Number(given)]) {
    const outcome = await simulate(seed);
    if (outcome.failure !== undefined) expect.fail(lineOf(outcome));
    commits += outcome.figures.commits;
  }
  expect(commits).toBeGreaterThan(given === undefined ? 400 : 0);
});

test('a seed determines all that happens', async () => {
  const [first, second] = [await simulate(2), await simulate(2)];
  expect(second).toEqual(first);
});

/** Those that a seed below this finds: the others are in `make torture`. */
const quickly = 4;

test.each(mutations.filter(({ seed }) => seed < quickly))(
  'rule $rule: a writer that $name is found',
  async (mutation) => {
    expect((await simulate(mutation.seed, mutation)).failure).toBeInstanceOf(Error);
  },
);
