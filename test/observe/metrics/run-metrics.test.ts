import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { createRunMetrics } from '../../../src/observe/metrics/run-metrics.js';
import { clockAt } from '../../app/lake-run.js';
import { samplesOf, sumOf } from './samples.js';

const clock = clockAt('2026-03-20T12:00:00Z');
const of = { pipeline: 'financial-events', slice: 's' } as const;
const operation = 'ListFinancialEvents';

/** One of everything that counts. */
const events: readonly RunEvent[] = [
  {
    event: 'run-started',
    run: 'id',
    command: 'sync',
    account: 'shop',
    lake: 'l',
    pipelines: [of.pipeline],
    from: null,
    to: null,
  },
  { event: 'slice-opened', ...of, pagesLeft: null },
  { event: 'request-sent', ...of, operation, attempt: 1, cause: null },
  { event: 'bucket-changed', operation, rate: 0.5, burst: 30, tokens: 29, nextTokenSeconds: 0 },
  {
    event: 'request-failed',
    ...of,
    operation,
    cause: 'throttled',
    status: 429,
    requestId: null,
    again: true,
    waitSeconds: 2,
  },
  { event: 'request-sent', ...of, operation, attempt: 2, cause: 'throttled' },
  { event: 'request-answered', ...of, operation, seconds: 0.3, bytes: 1000, requestId: 'r' },
  { event: 'page-read', ...of, results: 100, pagesLeft: 7 },
  { event: 'slice-failed', ...of, verdict: 'split', cause: null, reason: 'x' },
  { event: 'slice-committed', ...of, rows: { events: 100, entries: 900 }, files: 2, bytes: 500, left: '' },
  { event: 'slice-closed', ...of },
  { event: 'watermark-moved', pipeline: of.pipeline, until: '2026-03-20T11:55:00.000Z', from: null },
  { event: 'run-ended', status: 'done', seconds: 1 },
  { event: 'worker-started', fleet: 'f', redis: 'r', concurrency: 4 },
  { event: 'queue-counted', waiting: 7, active: 2, delayed: 1, dead: 0 },
  ...[1, 2].map((turn): RunEvent => ({ event: 'turn-started', account: 'shop', work: 'sync', turn })),
  {
    event: 'turn-ended',
    account: 'shop',
    work: 'sync',
    turn: 1,
    end: 'over',
    reason: 'x',
    next: 'again',
    delaySeconds: 0,
    seconds: 61,
    slices: 3,
    pages: 5,
    requests: 6,
    throttled: 1,
  },
  { event: 'queue-lost', reason: 'x' },
];

async function afterAll(): Promise<string> {
  const metrics = createRunMetrics(clock);
  for (const event of events) metrics.emit(event);
  return metrics.text();
}

test('docs/metrics.md has every metric, its type and its labels', async () => {
  const text = await afterAll();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const samples = samplesOf(text);
  const told = [...types].map(([name, type]) => {
    const own = samples.find((sample) => sample.name === (type === 'histogram' ? `${name}_sum` : name));
    return [name, type, Object.keys(own?.labels ?? { none: '' }).toSorted()];
  });
  const page = await readFile('docs/metrics.md', 'utf8');
  const rows = [...page.matchAll(/^\| `(ledgerlake_\w+)` +\| (\w+) +\|([^|]*)\|/gm)];
  const documented = rows.map(([, name = '', type = '', labels = '']) => [
    name,
    type,
    [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).toSorted(),
  ]);
  expect(told.length).toBeGreaterThan(15);
  const byName = (a: unknown[], b: unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);
  expect(documented.toSorted(byName)).toEqual(told.toSorted(byName));
});

test('every metric has a help text, counters end as Prometheus wants it', async () => {
  const text = await afterAll();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    expect(text).toMatch(new RegExp(`^# HELP ${name} \\w.*`, 'm'));
    expect(name.endsWith('_total')).toBe(type === 'counter');
  }
});

test('what it counts, and the age of the lake', async () => {
  const samples = samplesOf(await afterAll());
  const sum = (name: string): number => sumOf(samples, `ledgerlake_${name}`, { account: 'shop' });
  expect(sum('requests_total')).toBe(2);
  expect(sum('retries_total')).toBe(1);
  expect(sum('throttles_total')).toBe(1);
  expect(sum('rows_total')).toBe(1000);
  expect(sum('lag_seconds')).toBe(300);
  expect(sum('bucket_tokens')).toBe(29);
  expect(sum('open_slices')).toBe(0);
  expect(sum('run_ended_timestamp_seconds')).toBe(clock.now() / 1000);
});

test('what a worker counts has no names of accounts', async () => {
  const samples = samplesOf(await afterAll());
  const sum = (name: string, labels = {}): number => sumOf(samples, `ledgerlake_${name}`, labels);
  expect([sum('turns_total', { work: 'sync', end: 'over' }), sum('open_turns')]).toEqual([1, 1]);
  expect([sum('turn_requests_total'), sum('turn_throttles_total'), sum('turn_slices_total')]).toEqual([6, 1, 3]);
  expect([sum('queue_accounts', { state: 'waiting' }), sum('queue_accounts')]).toEqual([7, 10]);
  expect(sum('queue_connected')).toBe(0);
});

test('two runs in one process share nothing', async () => {
  const first = createRunMetrics(clock);
  for (const event of events) first.emit(event);
  const second = createRunMetrics(clock);
  expect(sumOf(samplesOf(await second.text()), 'ledgerlake_requests_total', {})).toBe(0);
});
