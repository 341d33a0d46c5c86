import { expect, test } from 'vitest';
import { backlogOf } from '../../bench/fleet/backlog.js';
import { lengthOf, readingOf } from '../../bench/fleet/reading.js';
import { months } from '../../src/core/windows.js';
import { virtualRun } from '../pacing/virtual-run.js';

const quota = { rate: 0.5, burst: 30 };

test.each([
  { pipeline: 'financial-events', days: 30, events: 3000, latencyMs: 400, burst: 30 },
  { pipeline: 'financial-events', days: 30, events: 3000, latencyMs: 5000, burst: 5 },
  { pipeline: 'group-events', days: 60, events: 3000, latencyMs: 400, burst: 1 },
])(
  'the runner needs the requests and the time that the simulation reckons with: $pipeline, $events events in 90 days, $latencyMs ms, $burst tokens',
  async ({ pipeline, days, events, latencyMs, burst }) => {
    const real = await virtualRun({ pipelines: [pipeline], days, events, latencyMs, quota: { ...quota, burst } });
    expect(real).toMatchObject({ failure: undefined, lost: 0, doubled: 0, throttled: 0 });
    const slices = real.summaries.find((summary) => summary.pipeline === pipeline)?.slices ?? 0;
    const whole = (events * days) / 90;
    const { requests } = backlogOf(slices, whole);
    // Pages of a slice are taken to be as many in each, and the last one to be full.
    expect(Math.abs(requests - real.requests)).toBeLessThanOrEqual(slices);
    if (pipeline === 'financial-events') {
      expect(slices).toBeLessThanOrEqual(months({ start: 0, end: days * 86_400_000 }).length + 5);
    }
    const bucket = { tokenMs: 1000 / quota.rate, burst: Math.max(1, burst - 0.3), fullAt: 0 };
    const seconds = lengthOf(readingOf(0, real.requests, slices, latencyMs, bucket)) / 1000;
    // Behind the listing, and behind the first answers, from which the runner learns how many slices to open.
    const late = (pipeline === 'group-events' ? 3 : 1) * (latencyMs / 1000);
    expect(real.seconds).toBeGreaterThanOrEqual(seconds - 1);
    expect(real.seconds).toBeLessThanOrEqual(seconds * 1.05 + late + 4);
  },
);
