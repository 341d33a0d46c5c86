import { describe, test } from 'vitest';
import { sharedOut } from '../campaign.js';
import { faults } from '../lake/faulty-store.js';
import { firstLoad, refreshed, released, survives } from '../engine/run/store-faults.js';

describe.each([
  ['a first load', firstLoad],
  ['a refresh of what has changed', refreshed],
  ['a sync of transactions that have been released', released],
])('%s', (name, begin) => {
  test.each(faults)('with every single call to the store %s in turn', async (fault) => {
    const trial = await begin();
    let tried = 0;
    const calls = sharedOut(Array.from({ length: trial.calls }, (_, at) => at + 1));
    for (const at of calls) if ((await survives(trial, at, fault)) !== undefined) tried++;
    console.log(`${name}, ${fault}: ${tried} store faults tried, lakes that differed: 0`);
  });
});
