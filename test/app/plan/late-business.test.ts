import { readdir } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startService } from '../../../src/serve/http/server.js';
import { evenLedger } from '../../engine/run/even-ledger.js';
import { runningClock } from '../../running-clock.js';
import { ran, temporaryFolder } from '../lake-run.js';
import { of, planned, planText } from './plan-of.js';

const clock = runningClock('2026-06-20T12:00:00Z');
/** 30 events a day from 21 March on. */
const begun = '2026-03-21';
const perDay = 30;

/** A seller whose business begins with the 80th day of the year, and a lake of theirs that is empty. */
async function lateBusiness() {
  const service = await startService({ ledger: evenLedger(begun, 91, perDay, 14), clock });
  onTestFinished(() => service.close());
  return { lake: await temporaryFolder(), endpoint: service.url, account: 'shop' };
}

const fast = { rate: 1000, burst: 1000 };

test('empty days before the first events are not taken for those after them', async () => {
  const given = await lateBusiness();
  // One week, of which the last day and a half have events.
  await ran({ ...given, ...fast, from: '2026-03-15', to: '2026-03-22' }, { clock });
  const range = { from: '2026-03-15', to: '2026-06-13' };
  const plan = await planned({ ...given, ...range }, clock);
  const expected = 83 * perDay;
  expect(Number(of(plan, 'financial-events')['events'])).toBeGreaterThan(expected * 0.9);
  expect(Number(of(plan, 'financial-events')['events'])).toBeLessThan(expected * 1.1);
  const text = (await planText({ ...given, ...range, format: 'table' }, clock)).replaceAll('\n', ' ');
  expect(text).toContain(
    'Rough: financial-events is estimated from 1 loaded day, as those loaded before 2026-03-21 are empty, for 83 days to load.',
  );
});

test('where the middle of the range is empty, a probe looks nearer to its end and says so', async () => {
  const given = await lateBusiness();
  const range = { from: '2025-06-20', to: '2026-06-18' };
  const plan = await planned({ ...given, ...range, probe: true }, clock);
  expect(plan.known).toBe(true);
  // One for the list of settlements, two for the events.
  expect(plan.probe_requests).toBe(3);
  const text = await planText({ ...given, ...range, probe: true, format: 'table' }, clock);
  expect(text.replaceAll('\n', ' ')).toContain(
    'The service has nothing of financial-events for 2025-12-18 to 2026-01-15.',
  );
  expect(await readdir(given.lake)).toEqual([]);
});

test('a range that is empty to its end is asked for three times at most', async () => {
  const given = await lateBusiness();
  const range = { from: '2024-06-20', to: '2026-02-18', pipelines: ['financial-events'] };
  const plan = await planned({ ...given, ...range, probe: true }, clock);
  expect(plan).toMatchObject({ known: false, probe_requests: 3 });
});

test('a lake that holds empty days only lets a probe ask', async () => {
  const given = await lateBusiness();
  const events = { pipelines: ['financial-events'] };
  await ran({ ...given, ...fast, ...events, from: '2026-02-01', to: '2026-02-08' }, { clock });
  const range = { from: '2026-02-01', to: '2026-06-13' };
  expect(await planned({ ...given, ...events, ...range }, clock)).toMatchObject({ known: false });
  expect(await planned({ ...given, ...events, ...range, probe: true }, clock)).toMatchObject({
    known: true,
    probe_requests: 1,
  });
});
