import { expect, test } from 'vitest';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import { now, virtualRun, WholeClock } from './virtual-run.js';

test.each([
  { latencyMs: 400, quota: { rate: 0.5, burst: 30 } },
  { latencyMs: 3000, quota: { rate: 5, burst: 30 } },
  { latencyMs: 10_000, quota: { rate: 5, burst: 30 } },
])(
  'ten minutes of 429s are met by one request at a time, and told each minute: $latencyMs ms, $quota.rate a second',
  async (given) => {
    const clock = new WholeClock(now);
    const times: number[] = [];
    const isStruck = ({ number }: FaultRequest): boolean => {
      if (number > 20) times.push(clock.now());
      return number > 20;
    };
    const faults = { 'throttled-spell': { times: 1, forMs: 600_000, when: isStruck } };
    const scenario = { events: 12_000, days: 90, pipelines: ['financial-events'], server: { faults } };
    const outcome = await virtualRun({ ...scenario, ...given, clock, random: () => 0.5 });
    expect(outcome).toMatchObject({ failure: undefined, lost: 0, doubled: 0 });
    expect(outcome.struck).toBe(outcome.throttled);
    expect(outcome.throttled).toBeLessThanOrEqual(35);
    const first = times[0] ?? NaN;
    const sentKnowing = times.filter((time) => time > first + given.latencyMs && time < first + 600_000);
    // Pauses of 1.5 to 16.5 s at first, then of 30.5 s. With many slices open, each of which tried again by itself, it was 124.
    expect(sentKnowing.length).toBeGreaterThanOrEqual(15);
    expect(sentKnowing.length).toBeLessThanOrEqual(24);
    expect(outcome.told.length).toBeGreaterThanOrEqual(4);
    expect(outcome.told.length).toBeLessThanOrEqual(11);
    for (const line of outcome.told) {
      expect(line).toMatch(
        /^ListFinancialEvents: waiting until 2026-07-01T12:\d\d:\d\dZ before the next attempt: the service throttles it \(429\)$/,
      );
    }
  },
);
