import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { childRun } from '../../engine/run/child-run.js';
import { database } from '../lake-run.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';
import { clockStart } from '../verify/small-backend.js';
import { verified } from '../verify/verified.js';
import { repaired } from './repaired.js';

const trials = 8;

function repairing({ root }: LoadedLake, killAt: number) {
  return childRun(['repair', '--lake', root, '--yes'], { killAt, now: clockStart }).ended;
}

/** The events and entries of a lake. */
async function contentsOf({ root, clock }: LoadedLake): Promise<unknown> {
  const query =
    "SELECT 'events' AS name, event_id, raw AS value FROM events " +
    "UNION ALL SELECT 'entries', event_id, entry || ' ' || amount FROM entries ORDER BY ALL";
  return [...(await (await database(root, clock, query)).rows(query))];
}

/** What `verify` finds, but for files that the next run deletes. */
async function problemsOf(lake: LoadedLake): Promise<readonly string[]> {
  const { code, problems } = await verified(lake);
  expect(code).toBe(0);
  return problems.filter(({ check }) => check !== 'unnamed-files').map(({ check, problem }) => `${check}: ${problem}`);
}

test('a repair that is killed at any step on the disk is done by the next one', { timeout: 600_000 }, async () => {
  const whole = await loadedLake(undefined, [{ to: '2025-03-02' }, {}]);
  // A file of events, one of entries, a commit and a publication are lost.
  const files = (folder: string) =>
    readdirSync(join(whole.root, folder), { recursive: true, encoding: 'utf8' }).toSorted();
  const data = (table: string) => files(table).filter((file) => file.endsWith('.parquet'));
  writeFileSync(join(whole.root, 'events', data('events')[0] ?? ''), 'no Parquet');
  rmSync(join(whole.root, 'entries', data('entries').at(-1) ?? ''));
  rmSync(join(whole.root, '_catalog', '00000000000000000002.json'));
  rmSync(join(whole.root, 'groups', '_delta_log', '00000000000000000000.json'));

  const undisturbed = whole.copy();
  const { code, errors } = await repairing(undisturbed, 0);
  expect(code, errors).toBe(0);
  const steps = Number(/steps on the disk: (\d+)/.exec(errors)?.[1]);
  expect(steps).toBeGreaterThan(trials);
  const wanted = await contentsOf(undisturbed);
  const problems = await problemsOf(undisturbed);

  for (let trial = 0; trial < trials; trial++) {
    // Before a step and after it, in turn.
    const step = 1 + Math.floor((trial * steps) / trials);
    const lake = whole.copy();
    const { signal } = await repairing(lake, trial % 2 === 0 ? step : -step);
    expect(signal, `step ${step}`).toBe('SIGKILL');
    expect((await repairing(lake, 0)).code, `step ${step}`).toBe(0);
    expect(await contentsOf(lake), `step ${step}`).toEqual(wanted);
    expect(await problemsOf(lake), `step ${step}`).toEqual(problems);
    expect(await repaired(lake, false)).toMatchObject({ code: 0 });
    lake.remove();
  }
  for (const lake of [whole, undisturbed]) lake.remove();
});
