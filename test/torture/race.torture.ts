import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { builtCommand } from '../app/built-command.js';
import { database, temporaryFolder } from '../app/lake-run.js';
import { trialsOf } from '../campaign.js';

const seconds = trialsOf('SECONDS', 120);

const dayMs = 86_400_000;
const today = Math.floor(Date.now() / dayMs) * dayMs;
const day = (back: number): string => new Date(today - back * dayMs).toISOString().slice(0, 10);

/** What every version of a lake has: no event twice, and of each entry the event. */
const invariants =
  'SELECT (SELECT count(*) - count(DISTINCT event_id) FROM events) AS doubled, ' +
  '(SELECT count(*) FROM entries ANTI JOIN events USING (event_id)) AS fatherless, ' +
  '(SELECT count(*) FROM events SEMI JOIN entries USING (event_id)) AS with_entries';

test('two loads, sync, compact and rebuild at once beside readers: no command fails, and no row is off', async () => {
  const folder = await temporaryFolder();
  const lake = join(folder, 'lake');
  const run = (...words: readonly string[]) => builtCommand([...words, '--lake', lake], { folder });
  const first = await run('backfill', '--from', day(60), '--to', day(52));
  expect(first.code).toBe(0);

  const end = performance.now() + seconds * 1000;
  let rounds = 0;
  let read = 0;
  while (performance.now() < end) {
    rounds += 1;
    const progress = { isWriting: true };
    const writers = [
      ['backfill', '--from', day(60), '--to', day(52), '--refresh'],
      ['backfill', '--from', day(56), '--to', day(48 - Math.min(rounds, 40))],
      ['sync', '--from', day(58)],
      ['compact'],
      ['rebuild'],
    ].map(async (words) => ({ words, ...(await run(...words)) }));
    const reading = (async () => {
      while (progress.isWriting) {
        const seen = await run('sql', invariants, '--format', 'json');
        expect(seen).toMatchObject({ code: 0, err: '' });
        const [row] = JSON.parse(seen.out) as { with_entries: number }[];
        expect(row).toMatchObject({ doubled: 0, fatherless: 0 });
        expect(row?.with_entries).toBeGreaterThan(0);
        read += 1;
      }
    })();
    try {
      for (const { words, code, err } of await Promise.all(writers))
        expect({ words, code, err }).toMatchObject({ code: 0 });
    } finally {
      progress.isWriting = false;
    }
    await reading;
    const verified = await run('verify');
    expect(verified.out + verified.err).toContain('WHOLE');
    expect(verified.code).toBe(0);
  }

  // A lake that nobody else wrote to has the same rows, but for the windows of events without a date.
  const range = ['--from', day(60), '--to', day(10)];
  expect((await run('backfill', ...range)).code).toBe(0);
  expect((await run('backfill', '--refresh', ...range)).code).toBe(0);
  const quiet = join(folder, 'quiet');
  expect((await builtCommand(['backfill', ...range, '--lake', quiet], { folder })).code).toBe(0);
  for (const [table, columns] of [
    ['events', 'event_id, raw'],
    ['entries', 'event_id, entry, kind, name, amount'],
  ] as const) {
    const query =
      `SELECT ${columns} FROM ${table} ` +
      `WHERE posted_at >= TIMESTAMPTZ '${day(60)}' AND posted_at < TIMESTAMPTZ '${day(10)}' ORDER BY ALL`;
    const [raced, alone] = await Promise.all(
      [lake, quiet].map(async (of) => (await database(of, systemClock)).rows(query)),
    );
    expect(raced?.length).toBeGreaterThan(0);
    expect(raced).toEqual(alone);
  }
  console.log(`${rounds} rounds of five writers in ${seconds} s, ${read} reads: no error, no row off`);
});
