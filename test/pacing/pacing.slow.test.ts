import { expect, test } from 'vitest';
import { virtualRun } from './virtual-run.js';

const quarter = { events: 12_000, days: 90 };
/** The same number of pages, of 500 each. */
const transactionsQuarter = { events: 41_000, days: 90 };

test.each([
  ['financial-events', 10, quarter],
  ['financial-events', 3000, quarter],
  ['group-events', 400, quarter],
  ['transactions', 10, transactionsQuarter],
  ['transactions', 3000, transactionsQuarter],
] as const)(
  'a cold run of %s with answers of %d ms takes as long as the quota, and no request too many',
  async (pipeline, latencyMs, size) => {
    const outcome = await virtualRun({ ...size, pipelines: [pipeline], latencyMs });
    expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0, throttled: 0, invalid: 0 });
    expect(outcome.least).toBeGreaterThan(90);
    expect(outcome.seconds).toBeLessThanOrEqual(outcome.bound * 1.05);
    expect(outcome.requests).toBeLessThanOrEqual(outcome.least * 1.05);
  },
);

test('with answers of ten seconds, and tokens that live three minutes, none of these expires', async () => {
  const server = { tokenLifeMs: 180_000 };
  const outcome = await virtualRun({
    ...quarter,
    pipelines: ['financial-events'],
    latencyMs: 10_000,
    server,
  });
  expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0, throttled: 0, invalid: 0 });
  expect(outcome.seconds).toBeLessThanOrEqual(outcome.bound * 1.05);
  expect(outcome.requests).toBeLessThanOrEqual(outcome.least * 1.05);
});
