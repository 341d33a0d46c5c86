import { readdir } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startApiServer } from '../../../src/serve/http/server.js';
import { evenBackend } from '../../engine/run/even-backend.js';
import { watchedServer } from '../../engine/run/watched-server.js';
import { runningClock } from '../../running-clock.js';
import { ran, temporaryFolder } from '../lake-run.js';
import { of, planned, planText } from './plan-of.js';

const clock = runningClock('2026-06-20T12:00:00Z');
/** 30 events a day from 21 March on. */
const begun = '2026-03-21';
const perDay = 30;

/** A seller whose business begins with the 80th day of the year, and a lake of theirs that is empty. */
async function lateBusiness() {
  const server = await startApiServer({ backend: evenBackend(begun, 91, perDay, 14), clock });
  onTestFinished(() => server.close());
  return { lake: await temporaryFolder(), endpoint: server.url, account: 'shop' };
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
    'Rough: financial-events is estimated from 1 loaded day, because those loaded before 2026-03-21 are empty, for 83 days to load.',
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

test('of a year before the loaded months a probe asks what is there, and the estimate goes by that', async () => {
  const given = await lateBusiness();
  await ran({ ...given, ...fast, from: '2026-04-20', to: '2026-06-13' }, { clock });
  const range = { from: '2025-06-01', to: '2026-06-13' };
  const blind = await planned({ ...given, ...range }, clock);
  expect(Number(of(blind, 'financial-events')['events'])).toBeGreaterThan(9000);
  const rough = (await planText({ ...given, ...range, format: 'table' }, clock)).replaceAll('\n', ' ');
  expect(rough).toContain(
    'estimated from 54 loaded days, for 323 days to load. Load a week near their end, or run plan --probe,',
  );

  const before = await readdir(given.lake, { recursive: true });
  const plan = await planned({ ...given, ...range, probe: true }, clock);
  expect(plan.known).toBe(true);
  // One for the list of settlements, three for the events: the middle, halfway to the end, and the end.
  expect(plan.probe_requests).toBe(4);
  const events = Number(of(plan, 'financial-events')['events']);
  // 30 days of them; of the 23 between what was found empty and what was not, nobody knows.
  expect(events).toBeGreaterThan(29 * perDay);
  expect(events).toBeLessThan(54 * perDay);
  // The settlements of the year before the business began are none.
  expect(Number(of(plan, 'group-events')['slices'])).toBeLessThan(5);
  const text = await planText({ ...given, ...range, probe: true, format: 'table' }, clock);
  expect(text).not.toContain('the lake was sufficient');
  expect(await readdir(given.lake, { recursive: true })).toEqual(before);
});

test('what the page of a long stretch tells counts more there than the loaded days behind it', async () => {
  // 30 events a day from March on; the lake holds days of another density, before it.
  const server = await startApiServer({ backend: evenBackend(begun, 91, perDay, 14), clock });
  onTestFinished(() => server.close());
  const given = { lake: await temporaryFolder(), endpoint: server.url, account: 'shop' };
  const dense = await startApiServer({ backend: evenBackend('2026-01-01', 170, 5, 14), clock });
  onTestFinished(() => dense.close());
  const events = { ...given, pipelines: ['financial-events'] };
  await ran({ ...events, ...fast, endpoint: dense.url, from: '2026-01-01', to: '2026-04-01' }, { clock });
  const plan = await planned({ ...events, from: '2026-01-01', to: '2026-06-01', probe: true }, clock);
  expect(plan.probe_requests).toBe(1);
  const expected = 61 * perDay;
  expect(Number(of(plan, 'financial-events')['events'])).toBeGreaterThan(expected * 0.6);
  expect(Number(of(plan, 'financial-events')['events'])).toBeLessThan(expected * 1.1);
});

test('a probe narrows a window that the service refuses for its length, as a backfill does', async () => {
  const faults = { 'window-limit': { share: 1, amount: 5 } };
  const server = await watchedServer(evenBackend(begun, 91, perDay, 14), clock, { faults });
  onTestFinished(() => server.close());
  const given = {
    lake: await temporaryFolder(),
    endpoint: server.url,
    account: 'shop',
    pipelines: ['financial-events'],
  };
  const plan = await planned({ ...given, ...fast, from: '2026-03-25', to: '2026-06-13', probe: true }, clock);
  expect(plan.known).toBe(true);
  const expected = 80 * perDay;
  expect(Number(of(plan, 'financial-events')['events'])).toBeGreaterThan(expected * 0.8);
  expect(Number(of(plan, 'financial-events')['events'])).toBeLessThan(expected * 1.2);
});
