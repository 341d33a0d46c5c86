import { expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/core/duckdb/connection.js';
import { lakeTables, openLakeReader } from '../../../src/app/query/lake-files.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { trialsOf } from '../../campaign.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { hidingBackend, lot, postedAt, setClock, synced } from './synced.js';

const dayMs = 86_400_000;
/** `make torture` has all of them. */
const nights = trialsOf('NIGHTS', 16);
/** The night on which a month has gone by since the backfill, so that the longest look-back is due. */
const longNight = 12;

async function look(
  database: Database,
  lake: string,
  clock: ReturnType<typeof setClock>,
  viewed = lakeTables,
): Promise<void> {
  const { lakeFiles, macrosFor } = await openLakeReader(lake, clock);
  await createViews(database, viewed, await lakeFiles());
  for (const macro of macrosFor()) {
    // A macro needs the tables that it reads.
    const [, name = ''] = /MACRO (\w+)/.exec(macro) ?? [];
    const isViewed = viewed.some((table) => `${table.name}_as_known` === name);
    if (name === 'loaded_spans' || isViewed) await database.execute(macro);
  }
}

/** Rows of either query that the other one lacks. */
async function different(database: Database, a: string, b: string): Promise<number> {
  const [row] = await database.rows(
    `SELECT (SELECT count(*) FROM (${a} EXCEPT ALL ${b})) + (SELECT count(*) FROM (${b} EXCEPT ALL ${a})) AS odd`,
  );
  return Number(row?.['odd']);
}

test(`${nights} nights over a seller whose events come late end with the lake of a fresh backfill, and the history explains each night`, async () => {
  const begin = Date.parse('2026-02-01T02:00:00Z');
  const clock = setClock(new Date(begin + (longNight - 30) * dayMs).toISOString());
  const seller = createSeller({ seed: 11, events: 2500, profile: 'edge-cases' }, clock);
  // One in twelve comes up to 30 days late, as deferred transactions do.
  const deferred = hidingBackend(seller, (item, asOf) => {
    const posted = postedAt(item);
    return posted !== undefined && lot(item, 12) === 0 && asOf < posted + (1 + (lot(item, 300) % 30)) * dayMs;
  });
  const endpoint = await serving({ backend: deferred, clock });
  const lake = await temporaryFolder();
  const given = { lake, endpoint, account: 'shop' };
  await ran({ ...given, from: '2026-01-01' }, { clock });

  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const nightly = lakeTables.filter(({ name }) => ['events', 'entries', 'event_history'].includes(name));
  await look(database, lake, clock, nightly);
  const requests: number[] = [];
  let appeared = 0;
  for (let night = 1; night <= nights; night++) {
    await database.execute('CREATE OR REPLACE TABLE before AS SELECT event_id, raw, window_start FROM events');
    await database.execute(
      'CREATE OR REPLACE TABLE before_entries AS SELECT event_id, entry, amount, path FROM entries',
    );
    const was = clock.now();
    clock.set(begin + night * dayMs + (night % 7) * 60_000);
    const { summary, failure } = await synced(given, { clock });
    expect(failure).toBeUndefined();
    expect(summary.lag_seconds).toBe(300);
    requests.push(summary.pipelines['financial-events']?.['requests'] ?? 0);
    appeared += summary.changes['financial-events']?.appeared ?? 0;
    await look(database, lake, clock, nightly);

    const known = `events_as_known('${new Date(was).toISOString()}')`;
    const odd = await different(database, 'SELECT event_id, raw FROM before', `SELECT event_id, raw FROM ${known}`);
    expect(odd, `night ${night}`).toBe(0);
    const entries = known.replace('events_as_known', 'entries_as_known');
    expect(
      await different(database, 'FROM before_entries', `SELECT event_id, entry, amount, path FROM ${entries}`),
    ).toBe(0);
  }
  expect(appeared).toBeGreaterThan(nights / 2);
  const [counted] = await database.rows(
    "SELECT count(*) FILTER (change = 'appeared') AS came, count(*) FILTER (change = 'vanished') AS went FROM event_history WHERE source = 'events'",
  );
  expect(counted).toEqual({ came: BigInt(appeared), went: 0n });

  // One long look-back more, and nothing is late any longer that the lake could hold.
  const last = await synced({ ...given, lookBack: 80 }, { clock });
  expect(last.failure).toBeUndefined();
  await look(database, lake, clock);
  const windows = await database.rows(
    'SELECT DISTINCT epoch_ms(window_start) AS first, epoch_ms(window_end) AS last FROM events ORDER BY ALL',
  );
  const fresh = await temporaryFolder();
  for (const { first, last: end } of windows) {
    const [from, to] = [first, end].map((ms) => new Date(Number(ms)).toISOString());
    await ran({ ...given, lake: fresh, pipelines: ['financial-events'], from, to }, { clock });
  }
  await ran({ ...given, lake: fresh, from: '2026-01-01', pipelines: ['group-events'] }, { clock });
  for (const table of ['events', 'entries', 'groups', 'group_events', 'group_entries']) {
    await database.execute(`CREATE OR REPLACE TABLE synced_${table} AS FROM ${table}`);
  }
  await look(database, fresh, clock);
  for (const table of ['events', 'entries', 'group_events', 'group_entries']) {
    expect(await different(database, `FROM synced_${table}`, `FROM ${table}`), table).toBe(0);
  }
  const groups = 'SELECT * EXCLUDE (window_start, window_end)';
  expect(await different(database, `${groups} FROM synced_groups`, `${groups} FROM groups`)).toBe(0);
  const certificate = await verified({ root: lake, clock });
  // The seller's settlements lack what is late, and say so in their totals.
  expect(certificate.problems.filter(({ kind }) => kind === 'lake')).toEqual([]);
  expect(certificate.code).toBe(0);

  // Two days back each night, fourteen each week, thirty-five each month.
  const median = requests.toSorted((a, b) => a - b)[nights / 2] ?? 0;
  expect(median).toBeLessThanOrEqual(5);
  expect(requests.filter((count) => count > 10).length).toBeLessThanOrEqual(Math.ceil(nights / 7) + 1);
  expect(Math.max(...requests)).toBe(requests[longNight - 1]);
  process.stdout.write(`requests a night: ${requests.join(' ')}\n`);
});
