import { expect, onTestFinished, test } from 'vitest';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { evenBackend } from './even-backend.js';
import { watchedServer } from './watched-server.js';

const clock = runningClock('2026-03-20T12:00:00Z', 100);
const range = { from: '2026-02-01', to: '2026-02-15' };

/** Loads settlements of 420 events, of whose follow-up requests so many find their tokens expired. */
async function loadedThrough(times: number) {
  const backend = evenBackend(`${range.from}T00:00:00Z`, 14, 60, 7);
  const faults = { 'token-expired': { times } };
  const server = await watchedServer(backend, clock, { faults });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  const logged: string[] = [];
  const given = { lake, endpoint: server.url, account: 'shop', ...range, pipelines: ['group-events'], rate: 1 };
  const failure = await ran({ ...given, burst: 30 }, { clock, logged }).then(
    () => undefined,
    (error: unknown) => error,
  );
  const [row] = await (
    await database(lake, clock)
  ).rows('SELECT count(*) AS n, count(DISTINCT raw) AS raws FROM group_events');
  return { failure, logged: logged.join('\n'), rows: row, all: BigInt(backend.items.length) };
}

test('a settlement whose place is lost, as its tokens die one after the other, is read again from its beginning', async () => {
  const { failure, logged, rows, all } = await loadedThrough(12);
  expect(failure).toBeUndefined();
  expect(logged).toContain('is read again from its beginning: ');
  expect(rows).toEqual({ n: all, raws: all });
});

test('not for ever: it is left open then', async () => {
  const { failure, logged } = await loadedThrough(1000);
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(logged.match(/GROUP-0 is read again/g)).toHaveLength(2);
  expect(logged).toContain('GROUP-0 is left open: ');
});
