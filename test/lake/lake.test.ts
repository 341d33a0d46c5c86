import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { LedgerlakeError } from '../../src/core/errors.js';
import type { RunEvent } from '../../src/core/events/run-event.js';
import type { Lake } from '../../src/lake/lake.js';
import type { SliceCommit } from '../../src/lake/slices/slice-commit.js';
import type { Revisions } from '../../src/lake/slices/slice-writer.js';
import { diskStore } from '../../src/lake/store/disk.js';
import type { Store } from '../../src/lake/store/store.js';
import { acquireLease, leasePath } from '../../src/lake/leases.js';
import { vacuumLake } from '../../src/lake/upkeep/vacuum.js';
import { temporaryFolder } from '../app/lake-run.js';
import { HandClock } from '../core/clock.js';
import { memoryStore, watched, type MemoryStore } from './memory-store.js';
import { changes, committed, newFileOf, opened, parts, sliceOf, standing, things, window } from './small-table.js';

const hourMs = 3_600_000;
const isCommit = (path: string) => path.startsWith('_catalog/0');
const isData = (path: string) => /^[^_/]+\/account=.*\.parquet$/.test(path);

function dataFiles({ files }: MemoryStore): string[] {
  return [...files.keys()].filter(isData).toSorted();
}

/** The paths of a lake's files. */
function pathsIn(lake: Lake): string[] {
  return lake
    .files()
    .map((file) => file.lakePath)
    .toSorted();
}

/** The texts of a table's files, as a reader of its Delta log alone finds them. */
async function published(store: Store, table: string): Promise<{ version: number; texts: string[] }> {
  const paths = new Set<string>();
  for (let version = 0; ; version++) {
    const bytes = await store.read(`${table}/_delta_log/${String(version).padStart(20, '0')}.json`);
    if (bytes === undefined) {
      const read = await Promise.all([...paths].map((path) => store.read(`${table}/${path}`)));
      return { version: version - 1, texts: read.map((one) => Buffer.from(one ?? 'GONE').toString()).toSorted() };
    }
    for (const line of Buffer.from(bytes).toString().trimEnd().split('\n')) {
      const { add, remove } = JSON.parse(line) as Partial<Record<'add' | 'remove', { path: string }>>;
      if (add !== undefined) paths.add(add.path);
      if (remove !== undefined) paths.delete(remove.path);
    }
  }
}

/** Vacuums as a run of its own; what it told. */
async function vacuumed(store: Store, clock: Clock = new HandClock(standing.now())): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  const lake = await opened(store, clock);
  const lease = await acquireLease(lake, clock);
  await vacuumLake(lake, lease, { clock, emit: (event) => events.push(event) });
  lease.cleared();
  await lease.release();
  return events;
}

/** Every re-read slice differs from what is stored. */
const comparing: Revisions = {
  compare: ({ slice }) =>
    Promise.resolve({
      history: [newFileOf(changes, `changes of ${slice.loadKeys.join()}`, { loadKeys: slice.loadKeys })],
      committed: () => undefined,
    }),
};

const refreshOf = (key: string, text: string): SliceCommit =>
  sliceOf(key, {
    reread: 'complete',
    files: [newFileOf(parts, `parts of ${text}`, { loadKeys: [key] }), newFileOf(things, text, { loadKeys: [key] })],
  });

describe.each<[string, () => Promise<Store>]>([
  ['in memory', () => Promise.resolve(memoryStore())],
  ['on disk', async () => diskStore(await temporaryFolder())],
])('a slice %s', (_, place) => {
  test('is one commit, with its derived rows and its history, and one version of each of their logs', async () => {
    const store = await place();
    const lake = await opened(store);
    await committed(lake, sliceOf('k'));
    const before = { version: lake.snapshot.version, things: (await published(store, 'things')).version };
    expect(await published(store, 'parts')).toMatchObject({ texts: ['parts of k'] });
    const refreshed = await committed(lake, refreshOf('k', 'new'), standing, comparing);
    expect(refreshed).toMatchObject({ files: 3 });
    const { snapshot } = await opened(store);
    // The table of changes is created before the first file of it is written.
    expect(snapshot.version).toBe(before.version + 2);
    expect(await published(store, 'things')).toEqual({ version: before.things + 1, texts: ['new'] });
    expect(await published(store, 'parts')).toMatchObject({ texts: ['parts of new'] });
    expect(await published(store, 'changes')).toMatchObject({ texts: ['changes of k'] });
    const [part] = [...snapshot.files('parts')];
    expect(part?.tags?.['main']).toBe(`things/${[...snapshot.files('things')][0]?.path}`);
    // What it has replaced is gone.
    const found: string[] = [];
    for await (const { path } of store.list('')) if (isData(path)) found.push(path);
    expect(found.toSorted()).toEqual(pathsIn(await opened(store)));
  });

  test('that two runs have read is of the first, and nothing of the second stays', async () => {
    const store = await place();
    const [one, other] = [await opened(store), await opened(store)];
    const results = [await committed(one, sliceOf('k')), await committed(other, sliceOf('k'))];
    expect(results).toEqual([{ files: 2, bytes: expect.any(Number) as number }, 'conflict']);
    const found: string[] = [];
    for await (const { path } of store.list('')) if (isData(path)) found.push(path);
    expect(found.toSorted()).toEqual(pathsIn(await opened(store)));
    expect(found.every((path) => path.includes(one.run))).toBe(true);
  });
});

test('slices that are ready together are one commit', async () => {
  const store = memoryStore();
  const lake = await opened(store);
  await committed(lake, sliceOf('first'));
  const { version } = lake.snapshot;
  const keys = Array.from({ length: 16 }, (_, at) => `k${at}`);
  const results = await Promise.all(keys.map((key) => committed(lake, sliceOf(key))));
  expect(results.filter((result) => typeof result === 'string')).toEqual([]);
  expect(lake.snapshot.version).toBe(version + 1);
  expect((await published(store, 'things')).texts).toEqual(['first', ...keys].toSorted());
  expect([...(await opened(store)).snapshot.keysOf('a', 'p').keys()].toSorted()).toEqual(['first', ...keys].toSorted());
});

test('a file that another slice of the same commit replaces is deleted, with a retention too', async () => {
  for (const hours of [0, 24]) {
    const store = memoryStore();
    const lake = await opened(store);
    await lake.setRetention(hours);
    await committed(lake, sliceOf('other'));
    const add = (text: string, replaced: boolean) =>
      lake.commitFiles({
        operation: 'WRITE',
        main: things,
        files: [newFileOf(things, text, { loadKeys: [text] })],
        replaced: (snapshot) => ({
          removed: [...snapshot.files('things')].filter(({ tags }) => replaced && tags?.['loadKeys'] === '["first"]'),
        }),
      });
    await Promise.all([add('first', false), add('second', true)]);
    expect((await published(store, 'things')).texts).toEqual(['other', 'second']);
    expect(dataFiles(store)).toEqual(pathsIn(await opened(store)));
  }
});

describe('a commit that fails', () => {
  test('before it has a version leaves nothing that it wrote, and everything of others', async () => {
    const memory = memoryStore();
    await committed(await opened(memory), sliceOf('k'));
    const before = dataFiles(memory);
    let isFailing = true;
    const store = watched(memory, {
      before: ({ method, path }) => {
        if (isFailing && method === 'create' && isCommit(path)) throw new LedgerlakeError('LAKE_STORE', 'no disk');
      },
    });
    const lake = await opened(store);
    await expect(committed(lake, sliceOf('new'))).rejects.toThrow('no disk');
    expect(dataFiles(memory)).toEqual(before);
    expect(lake.isUnclear).toBe(false);
    isFailing = false;
    expect(await committed(lake, sliceOf('new'))).toMatchObject({ files: 2 });
  });

  test.each([
    ['a publication', 'create', 'things/_delta_log/'],
    ['the deletion of what it replaces', 'remove', 'things/account='],
  ])('at %s, once it has one, stays with all of its files, and the next run completes it', async (_, call, prefix) => {
    const memory = memoryStore();
    await committed(await opened(memory), sliceOf('k'));
    const store = watched(memory, {
      before: ({ method, path }) => {
        if (method === call && path.startsWith(prefix)) throw new LedgerlakeError('LAKE_STORE', 'no disk');
      },
    });
    const failing = await opened(store);
    await expect(committed(failing, refreshOf('k', 'new'))).rejects.toThrow('no disk');
    const next = await opened(memory);
    expect(next.snapshot.version).toBe(failing.snapshot.version);
    for (const path of pathsIn(next)) expect(memory.files.has(path), path).toBe(true);
    await vacuumed(memory);
    expect((await published(memory, 'things')).texts).toEqual(['new']);
    expect(dataFiles(memory)).toEqual(pathsIn(next));
  });

  test.each([
    ['landed', true],
    ['not landed', false],
  ])('and may exist deletes nothing, where it has in fact %s', async (_, hasLanded) => {
    const memory = memoryStore();
    await committed(await opened(memory), sliceOf('k'));
    const before = dataFiles(memory);
    const unclear = ({ method, path }: { method: string; path: string }) => {
      if (method === 'create' && isCommit(path)) throw new LedgerlakeError('LAKE_UNCLEAR', 'no answer');
    };
    const lake = await opened(watched(memory, hasLanded ? { after: unclear } : { before: unclear }));
    await expect(committed(lake, refreshOf('k', 'new'))).rejects.toMatchObject({ code: 'LAKE_UNCLEAR' });
    expect(lake.isUnclear).toBe(true);
    expect(dataFiles(memory)).toHaveLength(before.length + 2);
    // A vacuum fences the run where it deletes its files, so that a claim that is still on its way fails.
    await vacuumed(memory);
    const next = await opened(memory);
    expect(next.snapshot.isFenced(lake.run)).toBe(!hasLanded);
    expect(dataFiles(memory)).toEqual(pathsIn(next));
    expect((await published(memory, 'things')).texts).toEqual([hasLanded ? 'new' : 'k']);
  });
});

test('replaced files are deleted when every log without them is published, and no earlier', async () => {
  const memory = memoryStore();
  await committed(await opened(memory), sliceOf('k'));
  const calls: string[] = [];
  const store = watched(memory, {
    before: ({ method, path }) => {
      if (method !== 'create' && method !== 'remove') return;
      calls.push(`${method} ${path.replace(/\/(account=|\d).*/, '')}`);
    },
  });
  await committed(await opened(store), refreshOf('k', 'new'));
  const removals = ['remove things', 'remove parts'].toSorted();
  expect(calls[0]).toBe('create _catalog');
  expect(calls.slice(1, 3).toSorted()).toEqual(['create parts/_delta_log', 'create things/_delta_log']);
  expect(calls.slice(3).toSorted()).toEqual(removals);
});

test('with a retention they stay so long, whatever the clock of whoever looks, and a vacuum deletes them after it', async () => {
  const clock = new HandClock('2025-06-01T00:00:00Z');
  const store = memoryStore();
  const lake = await opened(store, clock);
  await lake.setRetention(2);
  await committed(lake, sliceOf('k'), clock);
  const old = dataFiles(store);
  await committed(lake, refreshOf('k', 'new'), clock);
  await clock.advance(2 * hourMs - 1);
  expect(await vacuumed(store, clock)).toEqual([]);
  expect(dataFiles(store)).toEqual([...old, ...pathsIn(await opened(store, clock))].toSorted());
  await clock.advance(1);
  const { version } = (await opened(store, clock)).snapshot;
  await vacuumed(store, clock);
  expect(dataFiles(store)).toEqual(pathsIn(await opened(store, clock)));
  // In one commit, and nothing is left to do.
  expect((await opened(store, clock)).snapshot.version).toBe(version + 1);
  expect([...(await opened(store, clock)).snapshot.retired()]).toEqual([]);
  await vacuumed(store, clock);
  expect((await opened(store, clock)).snapshot.version).toBe(version + 1);
});

describe('a vacuum', () => {
  test('fences a dead run before it deletes what that one has written, and its late commit fails', async () => {
    const memory = memoryStore();
    await committed(await opened(memory), sliceOf('k'));
    let wake: () => void = () => undefined;
    const sleep = new Promise<void>((resolve) => (wake = resolve));
    const asleep: Store = {
      ...memory,
      create: async (path, bytes) => {
        await sleep;
        return memory.create(path, bytes);
      },
    };
    const sleeper = await opened(asleep);
    const late = committed(sleeper, sliceOf('late'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(dataFiles(memory).filter((path) => path.includes(sleeper.run))).toHaveLength(2);
    const events = await vacuumed(memory);
    expect(events.filter(({ event }) => event === 'orphan-deleted')).toHaveLength(2);
    expect(events).toContainEqual({ event: 'orphans-deleted', table: 'things', files: 1 });
    wake();
    await expect(late).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    await expect(committed(sleeper, sliceOf('later'))).rejects.toThrow('another run took it for dead and fenced it');
    expect((await published(memory, 'things')).texts).toEqual(['k']);
    expect(dataFiles(memory)).toEqual(pathsIn(await opened(memory)));
  });

  test('leaves the files of a run that lives', async () => {
    const memory = memoryStore();
    await committed(await opened(memory), sliceOf('k'));
    const other = await opened(memory);
    const lease = await acquireLease(other, new HandClock(standing.now()));
    const path = `things/account=a/month=2025-06/x-${other.run}-0.parquet`;
    await memory.write(path, Buffer.from('x'));
    expect(await vacuumed(memory)).toEqual([]);
    expect(memory.files.has(path)).toBe(true);
    // It has ended without cleaning up.
    await lease.release();
    expect(await vacuumed(memory)).toContainEqual({ event: 'orphan-deleted', file: path });
    expect([memory.files.has(path), memory.files.has(leasePath(lease.id))]).toEqual([false, false]);
  });

  test('leaves what it doesn’t know where the lake’s logs are an older copy beside newer files', async () => {
    const memory = memoryStore();
    const lake = await opened(memory);
    await committed(lake, sliceOf('k'));
    const older = new Map(memory.files);
    await committed(lake, sliceOf('more'));
    const next = await opened(memory);
    await committed(next, sliceOf('newer'));
    const copy = memoryStore(new Map([...older, ...[...memory.files].filter(([path]) => isData(path))]));
    const dead = await acquireLease(next, new HandClock(standing.now()));
    await dead.release();
    for (const [path, bytes] of memory.files) if (path.startsWith('_runs/')) copy.files.set(path, bytes);
    const before = dataFiles(copy);
    expect(await vacuumed(copy)).toEqual([{ event: 'orphans-left' }]);
    expect(dataFiles(copy)).toEqual(before);
    // What says that a run has died stays too: the next vacuum looks again.
    expect(copy.files.has(leasePath(dead.id))).toBe(true);
  });
});

describe('a lake doesn’t open', () => {
  async function filled(): Promise<MemoryStore> {
    const store = memoryStore();
    const lake = await opened(store);
    for (const key of ['a', 'b', 'c']) await committed(lake, sliceOf(key));
    return store;
  }
  function lose(store: MemoryStore, isLost: (path: string) => boolean): void {
    for (const path of [...store.files.keys()]) if (isLost(path)) store.files.delete(path);
  }

  test('where its catalog is lost', async () => {
    const store = await filled();
    lose(store, (path) => path.startsWith('_catalog/'));
    await expect(opened(store)).rejects.toMatchObject({ code: 'LAKE_LOG' });
    // With its logs too.
    lose(store, (path) => path.includes('/_delta_log/'));
    await expect(opened(store)).rejects.toMatchObject({
      code: 'LAKE_LOG',
      message: expect.stringContaining('run `ledgerlake repair`') as string,
    });
  });

  test('where the end of its catalog is lost', async () => {
    const store = await filled();
    const { version } = (await opened(store)).snapshot;
    lose(store, (path) => path === `_catalog/${String(version).padStart(20, '0')}.json`);
    await expect(opened(store)).rejects.toThrow(`got ${version - 1} as the newest; run \`ledgerlake repair\``);
  });
});

describe('after an erasure', () => {
  test('a run reads on, and one that began before commits no more', async () => {
    const store = memoryStore();
    const sleeper = await opened(store);
    const { run } = sleeper;
    const lake = await opened(store);
    for (const key of ['a', 'b']) await committed(lake, sliceOf(key));
    const eraser = await opened(store);
    await eraser.erase('ERASE');
    await sleeper.refresh();
    expect([sleeper.run, sleeper.snapshot.hash]).toEqual([run, eraser.snapshot.hash]);
    expect(pathsIn(sleeper)).toEqual(pathsIn(eraser));
    await expect(committed(sleeper, sliceOf('late'))).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    expect(await committed(eraser, sliceOf('own'))).toMatchObject({ files: 2 });
    expect(await committed(await opened(store), sliceOf('next'))).toMatchObject({ files: 2 });
    expect(dataFiles(store)).toEqual(pathsIn(await opened(store)));
  });

  test('the list of fenced runs is short', async () => {
    const store = memoryStore();
    for (const key of ['a', 'b', 'c']) {
      const dead = await opened(store);
      await committed(dead, sliceOf(key));
      await store.write(`things/account=a/month=2025-06/x-${dead.run}-9.parquet`, Buffer.from('x'));
      await vacuumed(store);
    }
    expect((await opened(store)).snapshot.state.fence.runs).toHaveLength(3);
    const eraser = await opened(store);
    await eraser.erase('ERASE');
    const { fence } = (await opened(store)).snapshot.state;
    expect(fence).toEqual({ before: Number(eraser.run.split('-')[0]), runs: [] });
  });
});

describe('a load key', () => {
  const [t0, t1, t2] = [0, 1, 2].map((hours) => Date.parse('2025-06-10T00:00:00Z') + hours * hourMs);

  async function keysOf(store: Store): Promise<unknown[]> {
    const lake = await opened(store);
    return [...lake.snapshot.keysOf('a', 'p').values()].map(({ key, window: span, readAt, since, origin }) => ({
      key,
      window: span,
      readAt,
      since,
      origin,
    }));
  }

  test('has its window, when it was read last and since when its rows are there', async () => {
    const clock = new HandClock('2025-06-10T00:00:00Z');
    const store = memoryStore();
    const lake = await opened(store, clock);
    await committed(lake, sliceOf(window(1, 2)), clock);
    await committed(lake, sliceOf('settlement/1'), clock);
    await clock.advance(hourMs);
    await committed(lake, refreshOf(window(1, 2), 'new'), clock, comparing);
    const span = { start: Date.UTC(2025, 5, 1), end: Date.UTC(2025, 5, 2) };
    expect(await keysOf(store)).toEqual([
      { key: window(1, 2), window: span, readAt: t1, since: t0, origin: 'api' },
      { key: 'settlement/1', window: undefined, readAt: t0, since: t0, origin: 'api' },
    ]);
  });

  test('that takes the place of others has since when each of its parts is there', async () => {
    const clock = new HandClock('2025-06-10T00:00:00Z');
    const store = memoryStore();
    const lake = await opened(store, clock);
    const day = (number: number) => Date.UTC(2025, 5, number);
    await committed(lake, sliceOf(window(1, 2)), clock);
    await clock.advance(hourMs);
    await committed(lake, sliceOf(window(3, 4)), clock);
    await clock.advance(hourMs);
    await committed(
      lake,
      sliceOf(window(1, 5), { reread: 'complete', takesOver: [window(1, 2), window(3, 4)] }),
      clock,
      comparing,
    );
    const joined = {
      key: window(1, 5),
      window: { start: day(1), end: day(5) },
      readAt: t2,
      origin: 'api',
      since: [
        { start: day(1), end: day(2), since: t0 },
        { start: day(2), end: day(3), since: t2 },
        { start: day(3), end: day(4), since: t1 },
        { start: day(4), end: day(5), since: t2 },
      ],
    };
    expect(await keysOf(store)).toEqual([joined]);
    // The rows of the others are replaced.
    expect((await published(store, 'things')).texts).toEqual([window(1, 5)]);
    // It stays so where it is read again, and in a checkpoint.
    await clock.advance(hourMs);
    const next = await opened(store, clock);
    await committed(next, refreshOf(window(1, 5), 'new'), clock, comparing);
    await next.erase('ERASE');
    expect(await keysOf(store)).toEqual([{ ...joined, readAt: (t2 ?? 0) + hourMs }]);
  });
});
