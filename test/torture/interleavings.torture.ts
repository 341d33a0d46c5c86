import * as fc from 'fast-check';
import { test } from 'vitest';
import { actors, before, interleave, rivals } from '../lake/interleaving.js';

test('12,000 orders of the steps of several processes on one lake', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), before, actors, interleave), { numRuns: 8000 });
  await fc.assert(fc.asyncProperty(fc.scheduler(), fc.constant([]), rivals, interleave), { numRuns: 4000 });
});
