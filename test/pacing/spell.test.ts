import { expect, test } from 'vitest';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import { virtualRun } from './virtual-run.js';

const later = ({ numberInOperation }: FaultRequest): boolean => numberInOperation > 20;
const faults = { 'throttled-spell': { times: 1, forMs: 600_000, when: later } };

test.each([
  { latencyMs: 400, quota: { rate: 0.5, burst: 30 } },
  { latencyMs: 3000, quota: { rate: 5, burst: 30 } },
  { latencyMs: 10_000, quota: { rate: 5, burst: 30 } },
])(
  'ten minutes of 429s are met by one request at a time, and told each minute: $latencyMs ms, $quota.rate a second',
  async (given) => {
    const scenario = { events: 12_000, days: 90, pipelines: ['financial-events'], service: { faults } };
    const outcome = await virtualRun({ ...scenario, ...given });
    expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0 });
    expect(outcome.struck).toBe(outcome.throttled);
    // Twenty waits of half a minute, and what was under way when it began. Before, with many slices open: 124.
    expect(outcome.throttled).toBeLessThanOrEqual(35);
    expect(outcome.told.length).toBeGreaterThanOrEqual(4);
    expect(outcome.told.length).toBeLessThanOrEqual(11);
    for (const line of outcome.told) {
      expect(line).toMatch(
        /^ListFinancialEvents: waiting until 2026-07-01T12:\d\d:\d\dZ, then it is tried again: the service throttles it \(429\)$/,
      );
    }
  },
);
