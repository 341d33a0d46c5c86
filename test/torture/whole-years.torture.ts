import { expect, test } from 'vitest';
import { sharedOut, trialsOf } from '../campaign.js';
import { bundled } from '../simulation/bundle.js';
import { mutations } from '../simulation/mutations.js';
import { replayLine, runSeeds } from '../simulation/run-seeds.js';

const years = trialsOf('YEARS', 4);

test(`${years} whole years`, async () => {
  const seeds = Array.from({ length: years }, (_, at) => at + 1);
  const played = await runSeeds(await bundled('years'), { seeds, days: 365, isShrunk: true });
  expect(played.flatMap((one) => (one.failure === undefined ? [] : [replayLine(one, 365)]))).toEqual([]);
});

/** Of each part of the program some. */
const chosen: ReadonlySet<string> = new Set([
  ...['quota-refilled-fast', 'cursor-twice', 'window-loses-millisecond', 'undated-outside', 'sync-leaves-gap'],
  ...[
    'remainder-lost',
    'conflict-ignored',
    'unclear-counts-as-lost',
    'checkpoint-loses-key',
    'deleted-before-published',
  ],
]);

test.each(sharedOut(mutations.filter(({ name }) => chosen.has(name))))(
  '$name is found by seed $seed',
  async (mutation) => {
    const [played] = await runSeeds(await bundled(mutation.name, [mutation]), { seeds: [mutation.seed], days: 42 });
    expect(played?.failure).toBeDefined();
  },
);

test('what fails is shrunk, and its line plays it again', async () => {
  const mutation = mutations.find(({ name }) => name === 'quota-refilled-fast');
  if (mutation === undefined) throw new Error('there is no such mutation');
  const file = await bundled('shrunk', [mutation]);
  const [played] = await runSeeds(file, { seeds: [mutation.seed], days: 42, isShrunk: true });
  const { reduction } = played ?? {};
  if (reduction === undefined) throw new Error('nothing was shrunk');
  const [again] = await runSeeds(file, { seeds: [mutation.seed], days: 42, ...reduction });
  expect(again?.failure).toBeDefined();
  expect(again?.figures.steps).toBeLessThanOrEqual(reduction.steps.length);
});
