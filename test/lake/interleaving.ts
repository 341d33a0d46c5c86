import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import type { Table } from '../../src/core/columns/table.js';
import type { Add } from '../../src/lake/delta/actions.js';
import { commitTransaction, type NewFile } from '../../src/lake/transaction/transaction.js';
import { derivedOf, loadKeysOf } from '../../src/lake/delta/file-tags.js';
import { Lake, type SliceCommit } from '../../src/lake/lake.js';
import type { RunLease } from '../../src/lake/upkeep/leases.js';
import { vacuumLake } from '../../src/lake/upkeep/vacuum.js';
import { globbed, truthOf } from './lake-truth.js';
import { memoryStore } from './memory-store.js';
import { isClear, scheduledStore } from './scheduled-store.js';

const column = { name: 'id', type: 'text', nullable: false, encoding: 'plain', about: 'An id.' } as const;
const derived: Table = { name: 'derived', about: 'Derived.', columns: [column] };
const main: Table = { name: 'main', about: 'Main.', columns: [column] };
const clock: Clock = { now: () => 1_750_000_000_000, sleep: () => new Promise(() => undefined) };

/** A slice of days of June, and what was read of it. */
interface Load {
  readonly kind: 'load';
  readonly from: number;
  readonly to: number;
  readonly refresh: boolean;
  readonly content: string;
  /** Undefined: the slice has no derived rows. */
  readonly derived: string | undefined;
}

/** `merge`: puts all files of a table into one, as `compact` does. */
export type Deed = Load | { readonly kind: 'sweep' } | { readonly kind: 'merge' };

/** One process: what it does in turn, and whether and where it dies. */
export interface Actor {
  readonly deeds: readonly Deed[];
  readonly diesAt: number | undefined;
  readonly late: boolean;
}

const load: fc.Arbitrary<Deed> = fc
  .record({
    kind: fc.constant('load' as const),
    // Two that touch, and one across both.
    window: fc.constantFrom([1, 3], [3, 5], [2, 4]),
    refresh: fc.boolean(),
    content: fc.constantFrom('x', 'y'),
    derived: fc.constantFrom('p', 'q', undefined),
  })
  .map(({ window: [from = 1, to = 1], ...rest }) => ({ ...rest, from, to }));
const deed = fc.oneof(
  { weight: 3, arbitrary: load },
  { weight: 1, arbitrary: fc.constant({ kind: 'sweep' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'merge' as const }) },
);

export const actors: fc.Arbitrary<Actor[]> = fc.array(
  fc.record({
    deeds: fc.array(deed, { minLength: 1, maxLength: 3 }),
    diesAt: fc.option(fc.integer({ min: 3, max: 40 }), { nil: undefined }),
    late: fc.boolean(),
  }),
  { minLength: 2, maxLength: 3 },
);
/** Three that read the same window, and mostly the same of it: one is first, one loses, one replaces what is there. */
export const rivals: fc.Arbitrary<Actor[]> = fc.tuple(...[false, false, true].map(rival));

function rival(refresh: boolean): fc.Arbitrary<Actor> {
  const contents = { content: fc.constantFrom('x', 'y'), derived: fc.constantFrom('p', 'q') };
  return fc.record(contents).map((of) => ({
    deeds: [{ kind: 'load', from: 1, to: 3, refresh, ...of }],
    diesAt: undefined,
    late: false,
  }));
}

export const before: fc.Arbitrary<Deed[]> = fc.array(load, { maxLength: 3 });

function sliceOf({ from, to, refresh, content, derived: rows }: Load): SliceCommit {
  const day = (number: number) => `2025-06-0${number}T00:00:00.000Z`;
  const loadKey = (a: number, b: number) => `window/${day(a)}/${day(b)}`;
  const file = (table: Table, text: string) => {
    const bytes = Buffer.from(`${table.name} ${from} ${to} ${text}`);
    return { table, month: '2025-06', bytes, rows: 1, stats: '{}', tags: {} };
  };
  return {
    pipeline: 'dates',
    account: 'a',
    name: `${from}-${to}`,
    loadKeys: [loadKey(from, to)],
    tables: [derived, main],
    files: [...(rows === undefined ? [] : [file(derived, rows)]), file(main, content)],
    refresh,
    excludes: (other) =>
      other !== loadKey(from, to) && other.slice('window/'.length) < day(to) && (other.split('/')[2] ?? '') > day(from),
  };
}

const lease = (id: string): RunLease => {
  const done = () => Promise.resolve();
  return { id, startedAt: 0, others: [], clearUp: done, cleared: () => undefined, release: done };
};

async function merge(lake: Lake): Promise<void> {
  const old = [...lake.table(main.name).snapshot.files.values()];
  if (old.length < 2) return;
  const named = old.flatMap((add) => derivedOf(add) ?? []);
  const loadKeys = JSON.stringify(old.flatMap(loadKeysOf).toSorted());
  const file = (table: Table, from: readonly string[]): NewFile => {
    const bytes = Buffer.from([table.name, ...from].join('\n'));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const add: Add = {
      path: `account=a/month=2025-06/merged-${sha256.slice(0, 16)}.parquet`,
      partitionValues: { account: 'a', month: '2025-06' },
      size: bytes.length,
      modificationTime: clock.now(),
      dataChange: false,
      tags: { pipeline: 'dates', account: 'a', units: loadKeys, sha256 },
    };
    return { table, add, read: () => Promise.resolve(bytes) };
  };
  await commitTransaction(lake, clock, {
    operation: 'OPTIMIZE',
    main,
    swaps: true,
    files: [
      ...(named.length === 0 ? [] : [file(derived, named)]),
      file(
        main,
        old.map(({ path }) => path),
      ),
    ],
    decide: ({ files }) => {
      const current = old.flatMap(({ path }) => files.get(path) ?? []);
      const same = old.every((add, at) => current[at]?.tags?.['derived'] === add.tags?.['derived']);
      return same ? { replaced: current, actions: [] } : undefined;
    },
  });
}

async function act(lake: Lake, deeds: readonly Deed[], id: string): Promise<void> {
  for (const deed of deeds) {
    if (deed.kind === 'sweep') await vacuumLake(lake, lease(id), { clock, emit: () => undefined });
    else if (deed.kind === 'merge') await merge(lake);
    else await lake.commit(sliceOf(deed));
  }
}

/**
 * Runs processes on one lake, each step of each in the order that the scheduler draws. After every step every file
 * that counts must be there and live, none of them twice; and once all have ended, one more vacuum leaves nothing else. Where none has died, nothing else is left anyway.
 */
export async function interleave(
  scheduler: fc.Scheduler,
  beginning: readonly Deed[],
  all: readonly Actor[],
): Promise<void> {
  const memory = memoryStore();
  await act(await Lake.open(memory, [main, derived], clock), beginning, 'before');
  const faults: string[] = [];
  const changed = (): void => {
    faults.push(...truthOf(memory.files).faults);
  };
  const turn = (label: string): Promise<void> => scheduler.schedule(Promise.resolve(), label).then(() => undefined);
  const failures: unknown[] = [];
  const atWork = new Set<ReturnType<typeof scheduledStore>>();
  for (const [at, { deeds, diesAt, late }] of all.entries()) {
    const store = scheduledStore(memory, `process ${at}`, { turn, diesAt, late, changed });
    atWork.add(store);
    Lake.open(store, [main, derived], clock)
      .then((lake) => act(lake, deeds, `process-${at}`))
      .catch((error: unknown) => failures.push(error))
      .finally(() => atWork.delete(store));
  }
  await scheduler.waitIdle();
  // Nobody waits for anything but the scheduler: whoever hasn't ended has died.
  expect([...atWork].filter((store) => !store.dead())).toEqual([]);
  expect(failures.filter((error) => !isClear(error))).toEqual([]);
  expect(faults).toEqual([]);
  // Who lives clears away what it wrote in vain; a derived file that several wrote may be left to the vacuum.
  const ofMain = (paths: readonly string[]) => paths.filter((path) => path.startsWith(`${main.name}/`));
  if (atWork.size === 0 && failures.length === 0) {
    expect(ofMain(globbed(memory.files))).toEqual(ofMain(truthOf(memory.files).counted));
  }

  await act(await Lake.open(memory, [main, derived], clock), [{ kind: 'sweep' }], 'after');
  const { faults: left, unlisted, counted } = truthOf(memory.files);
  expect([...left, ...unlisted]).toEqual([]);
  expect(globbed(memory.files)).toEqual(counted);
}
