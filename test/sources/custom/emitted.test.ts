import { expect, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { createRunMetrics } from '../../../src/observe/metrics/run-metrics.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';
import { RunProgress } from '../../../src/observe/live-view/run-progress.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { samplesOf, sumOf } from '../../observe/metrics/samples.js';
import { runningClock } from '../../running-clock.js';
import { loaded, shipmentsFrom } from './custom-run.js';
import { parcelServer, shipmentsOf } from './parcel-server.js';

const pipeline = 'shipments';

test('requests and quota of an own pipeline are told: metrics say what the summary says, and the view shows them', async () => {
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, 30));
  const faults = new Map([
    [2, 429],
    [4, 500],
  ]);
  server.strike = (_request, number) => {
    const status = faults.get(number);
    return status === undefined ? undefined : { status, body: '{"error":{"kind":"K","text":"not now"}}' };
  };
  const emitted: RunEvent[] = [];
  const clock = runningClock('2025-03-01T00:00:00Z', 200);
  const range = { from: '2025-01-20', to: '2025-01-27' };
  const { summary } = await loaded(shipmentsFrom(server), { lake: await temporaryFolder(), ...range, clock, emitted });
  const counts = summary.pipelines[pipeline] ?? {};
  expect(counts).toMatchObject({ retries: 2, throttled: 1 });

  const metrics = createRunMetrics(clock);
  const progress = new RunProgress();
  const nextTries: number[] = [];
  const lines: string[] = [];
  const log = plainLog((line) => lines.push(line), { verbose: true, least: 'debug' });
  for (const event of emitted) {
    metrics.emit(event);
    progress.record(event, clock.now());
    log(event);
    if (event.event === 'request-failed') nextTries.push(progress.view(clock.now()).rows[0]?.nextTryMs ?? 0);
  }
  const samples = samplesOf(await metrics.text());
  const sum = (name: string, labels = {}): number =>
    sumOf(samples, `ledgerlake_${name}`, { account: 'depot', pipeline, ...labels });
  expect(sum('requests_total', { operation: pipeline })).toBe(counts['requests']);
  expect(sum('retries_total')).toBe(counts['retries']);
  expect(sum('throttles_total')).toBe(counts['throttled']);
  expect(sum('request_failures_total', { cause: 'fault' })).toBe(1);
  expect(sum('received_bytes_total')).toBeGreaterThan(1000);
  expect(sumOf(samples, 'ledgerlake_bucket_rate', { operation: pipeline })).toBeGreaterThan(0);
  const [row] = progress.view(clock.now()).rows;
  expect(row?.retries.toSorted()).toEqual([
    ['fault', 1],
    ['throttled', 1],
  ]);
  // Once the answer has come there is nothing to wait for.
  expect([nextTries.map((ms) => ms > 0), row?.nextTryMs]).toEqual([[true, true], 0]);
  expect(row?.details.join()).toMatch(/\d+\/\d+ tokens/);
  expect(lines.join('\n')).toMatch(/shipments: shipments failed \(429, throttled\), again in/);
});
