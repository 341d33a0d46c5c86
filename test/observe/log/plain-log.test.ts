import { expect, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

type Failed = Extract<RunEvent, { event: 'slice-failed' }>;

function failed(slice: string, cause: Failed['cause'], verdict: Failed['verdict'] = 'skip'): Failed {
  return { event: 'slice-failed', pipeline: 'group-events', slice, verdict, cause, reason: `why of ${slice}` };
}

const ended: RunEvent = { event: 'run-ended', status: 'failed', seconds: 1 };

function written(events: readonly RunEvent[], options = {}): string[] {
  const lines: string[] = [];
  const emit = plainLog((line) => lines.push(line), options);
  for (const event of events) emit(event);
  return lines;
}

const run = [
  failed('A', 'too-large'),
  failed('B', 'too-large'),
  failed('C', 'too-large'),
  failed('D', 'fault'),
  failed('E', 'fault'),
  failed('F', 'bound-too-late', 'shorten'),
  failed('G', 'bound-too-late', 'shorten'),
  failed('H', 'bound-too-late'),
  failed('I', null),
  failed('J', null),
  ended,
];

test('a cause that many slices share is written once, with how many it leaves open', () => {
  const lines = written([...run, ...run]);
  expect(lines.slice(0, lines.length / 2)).toEqual([
    'group-events: A is left open: why of A',
    'group-events: D is left open: why of D',
    'group-events: E is left open: why of E',
    'group-events: F is read in parts: why of F',
    'group-events: I is left open: why of I',
    'group-events: J is left open: why of J',
    '3 slices are left open for this reason (too-large); --verbose lists them',
    '1 slice is left open for this reason (bound-too-late); --verbose lists them',
  ]);
  // The next run begins anew.
  expect(lines.slice(lines.length / 2)).toEqual(lines.slice(0, lines.length / 2));
});

test('--verbose writes each, --quiet none', () => {
  expect(written(run, { verbose: true })).toHaveLength(10);
  expect(written(run, { least: 'error' })).toEqual([]);
});

test('the reason of a slice that is read in parts is shortened, of one that is left open it is whole', () => {
  const reason = `financial-events got status 400 for /finances/v0/financialEvents?${'x'.repeat(400)}`;
  const lineOf = (verdict: 'shorten' | 'skip') =>
    written([{ event: 'slice-failed', pipeline: 'p', slice: 's', verdict, cause: null, reason }])[0] ?? '';
  expect(lineOf('shorten')).toMatch(/^p: s is read in parts: financial-events got status 400 .*x…$/);
  expect(lineOf('shorten').length).toBeLessThan(160);
  expect(lineOf('skip')).toContain(reason);
});
