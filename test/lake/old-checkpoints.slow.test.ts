import { describe, expect, test } from 'vitest';
import type { DeltaTable } from '../../src/lake/delta/delta-table.js';
import { acquireLease } from '../../src/lake/upkeep/leases.js';
import { Lake } from '../../src/lake/lake.js';
import type { Store } from '../../src/lake/store/store.js';
import { vacuumLake } from '../../src/lake/upkeep/vacuum.js';
import { faults, faultyStore } from './faulty-store.js';
import { memoryStore, watched, type MemoryStore } from './memory-store.js';
import { adding, checkpointFile, contents, hintFile, opened, standing, things } from './small-table.js';

const hour = 3_600_000;
const versions = [20, 41, 62, 83];

/** Four checkpoints, written so many hours ago. */
async function logOfAge(...hours: readonly number[]): Promise<{ store: Store; held: MemoryStore }> {
  const held = memoryStore();
  const table = await opened(held);
  for (let at = 0; at < 90; at++) await table.commit('WRITE', () => adding(`f${at}`));
  expect(checkpointsIn(held)).toEqual(versions);
  const age = new Map(versions.map((version, at) => [checkpointFile(version), (hours[at] ?? 0) * hour]));
  return { store: { ...held, list: aged(held, (path) => age.get(path) ?? 0) }, held };
}

/** Lists files as if they had been written so many milliseconds ago. */
function aged(held: MemoryStore, age: (path: string) => number): Store['list'] {
  return async function* (folder, after) {
    for await (const file of held.list(folder, after)) yield { ...file, modifiedAt: standing.now() - age(file.path) };
  };
}

function checkpointsIn(store: MemoryStore): number[] {
  return [...store.files.keys()]
    .flatMap((path) => /(\d{20})\.checkpoint/.exec(path)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

const dropped = async (store: Store): Promise<DeltaTable> => {
  const table = await opened(store);
  await table.dropOldCheckpoints(true);
  return table;
};

describe('checkpoints', () => {
  test.each([
    [[90, 60, 30, 25], [83]],
    [
      [90, 60, 30, 23],
      [62, 83],
    ],
    [
      [90, 60, 23, 22],
      [41, 62, 83],
    ],
    [[90, 23, 22, 21], versions],
    [[0, 0, 0, 0], versions],
  ])('of %j hours ago: those that another has superseded for a day go', async (hours, left) => {
    const { store, held } = await logOfAge(...hours);
    const commits = [...held.files.keys()].filter((path) => path.endsWith('.json'));
    const before = contents(await opened(store));
    await dropped(store);
    expect(checkpointsIn(held)).toEqual(left);
    expect([...held.files.keys()].filter((path) => path.endsWith('.json'))).toEqual(commits);
    expect(contents(await opened(store))).toEqual(before);
  });

  test.each<[string, (held: MemoryStore) => unknown, readonly number[]]>([
    ['there is no hint', (held) => held.files.delete(hintFile), versions],
    ['the hint is torn', (held) => held.files.set(hintFile, Buffer.from('{"ver')), versions],
    ['the hint is behind', (held) => held.files.set(hintFile, Buffer.from('{"version":41}')), [41, 62, 83]],
    ['the hint’s own is gone', (held) => held.files.delete(checkpointFile(83)), [20, 41, 62]],
    ['the hint’s own is torn', (held) => held.files.set(checkpointFile(83), Buffer.from('PAR1')), versions],
  ])('stay that may be needed where %s', async (_, harm, left) => {
    const { store, held } = await logOfAge(90, 80, 70, 60);
    harm(held);
    const table = await dropped(store);
    expect(checkpointsIn(held)).toEqual(left);
    expect(contents(await opened(store))).toEqual(contents(table));
  });

  test('of a log that was cut: it opens from the newest', async () => {
    const { store, held } = await logOfAge(90, 80, 70, 60);
    const table = await opened(store);
    await table.cleanUpLog(() => true);
    for (let at = 0; at < 30; at++) await table.commit('WRITE', () => adding(`g${at}`));
    const [beginning, newest] = checkpointsIn(held);
    expect([beginning, newest]).toEqual([90, expect.any(Number)]);
    await table.dropOldCheckpoints(true);
    expect(checkpointsIn(held)).toEqual([90, newest]);
    const later = { ...store, list: aged(held, () => 48 * hour) };
    await dropped(later);
    expect(checkpointsIn(held)).toEqual([newest]);
    expect(contents(await opened(later))).toEqual(contents(table));
  });

  test('go though any call of the store fails on the way, with the next try', async () => {
    let struck = 0;
    for (const fault of faults) {
      for (let at = 1, hit: string | undefined = ''; hit !== undefined; at++) {
        const { store, held } = await logOfAge(90, 80, 70, 60);
        const before = contents(await opened(store));
        const failing = faultyStore(store, at, fault);
        await dropped(failing).catch(() => undefined);
        hit = failing.hit;
        if (hit !== undefined) struck++;
        expect(checkpointsIn(held)).toContain(83);
        expect(contents(await opened(store))).toEqual(before);
        await dropped(store);
        expect(checkpointsIn(held)).toEqual([83]);
        expect(contents(await opened(store))).toEqual(before);
      }
    }
    // Among others each of the three removals, in each of the four ways.
    expect(struck).toBeGreaterThan(4 * 8);
  });

  test('may go while another opens the log: it begins at a newer one', async () => {
    const { store, held } = await logOfAge(90, 80, 70, 60);
    held.files.set(hintFile, Buffer.from('{"version":41}'));
    const before = contents(await opened(store));
    let met = 0;
    const reading = watched(store, {
      after: ({ method, path }) => {
        if (method !== 'read' || path !== hintFile || met++ > 0) return;
        // What a vacuum leaves that has seen the newer hint.
        for (const version of [20, 41, 62]) held.files.delete(checkpointFile(version));
      },
    });
    expect(contents(await opened(reading))).toEqual(before);
    expect(met).toBeGreaterThan(0);
  });
});

test('a sweep of one account looks for them only behind a checkpoint of its own, one of the lake always', async () => {
  const { store, held } = await logOfAge(90, 80, 70, 60);
  const listed: string[] = [];
  const told = watched(store, {
    before: ({ method, path }) => {
      if (method === 'list') listed.push(path);
    },
  });
  const lake = await Lake.open(told, [things], standing);
  const lease = await acquireLease(told, standing);
  const sweep = async (account?: string) => {
    listed.length = 0;
    await vacuumLake(lake, lease, { clock: standing, emit: () => undefined, account });
    return [...new Set(listed.filter((path) => path.endsWith('_delta_log')))];
  };
  expect(await sweep('a')).toEqual([]);
  expect(checkpointsIn(held)).toEqual(versions);
  for (let at = 0; at < 30; at++) await lake.table('things').commit('WRITE', () => adding(`g${at}`));
  expect(await sweep('a')).toEqual(['things/_delta_log']);
  expect(await sweep('a')).toEqual([]);
  expect(checkpointsIn(held).length).toBe(2);
  expect(await sweep()).toEqual(['things/_delta_log']);
  await lease.release();
});
