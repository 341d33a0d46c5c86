import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgetIn } from '../../src/app/forget/forget.js';
import { acquireLease } from '../../src/lake/leases.js';
import { vacuumLake } from '../../src/lake/upkeep/vacuum.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { Lake } from '../../src/lake/lake.js';
import type { Store } from '../../src/lake/store/store.js';
import { memoryStore, watched, type MemoryStore, type StoreCall } from '../lake/memory-store.js';
import { clock, filesBelow, shopsTemplate, type ShopsTemplate } from './two-shops.js';

let shops: ShopsTemplate;
beforeAll(async () => {
  shops = await shopsTemplate();
});
afterAll(() => shops.close());

async function forgot(store: Store, before: number | undefined): Promise<void> {
  const context = { clock, signal: new AbortController().signal, confirm: undefined };
  const options = { lake: join(tmpdir(), 'ledgerlake-forget-crash'), account: 'shop-a', yes: true };
  await forgetIn(await Lake.open(store, tables, context.clock), before, options, {
    ...context,
    emit: () => undefined,
  });
}

/** What a process that died leaves: its lease is there, and nobody renews it. */
function bury(store: MemoryStore): void {
  for (const [path, bytes] of store.files) {
    if (!path.startsWith('_runs/')) continue;
    const lease = JSON.parse(Buffer.from(bytes).toString('utf8')) as object;
    store.files.set(path, Buffer.from(JSON.stringify({ ...lease, renewedAt: 0 })));
  }
}

/** What a run of another account does with the leases of dead ones. */
async function vacuumed(store: Store): Promise<void> {
  const lake = await Lake.open(store, tables, clock);
  const lease = await acquireLease(lake, clock);
  await vacuumLake(lake, lease, { clock, emit: () => undefined });
  lease.cleared();
  await lease.release();
}

/** What a lake says of every file that counts, and of every unit that was read, whatever the names of files made anew. */
async function stateOf(store: MemoryStore): Promise<unknown> {
  const lake = await Lake.open(store, tables, clock);
  for (const [table, files] of lake.fileAddresses()) {
    for (const file of files) expect(store.files.has(file.slice('memory://'.length)), `${table}: ${file}`).toBe(true);
  }
  // Of a name without its run and number.
  const stem = (path: string) => path.replace(/-\d+-[0-9a-z]+-\d+\.parquet$/, '');
  const adds = lake.files().map(({ table, path, tags }) => [table, stem(path), tags?.['rows'], tags?.['loadKeys']]);
  const loadKeys = [...lake.snapshot.accounts()].flatMap((account) =>
    [...lake.snapshot.allKeysOf(account)].map(({ pipeline, key }) => `${account} ${pipeline} ${key}`).toSorted(),
  );
  return { adds: adds.map((add) => add.join(' ')).toSorted(), loadKeys };
}

function traces(store: MemoryStore, trace: string): string[] {
  return [...store.files]
    .filter(([path, bytes]) => path.includes(trace) || Buffer.from(bytes).includes(trace))
    .map(([path]) => path);
}

class Killed extends Error {}

/** A store whose process dies at a call: that one and all after it fail. `lost`: the call is done, and its answer lost. */
function dyingAt(store: Store, at: number, lost: boolean): { store: Store; died: () => boolean } {
  let calls = 0;
  const dead = () => calls > at;
  const before = (): void => {
    calls++;
    if (lost ? calls > at + 1 : dead()) throw new Killed();
  };
  const after = (): void => {
    if (lost && dead()) throw new Killed();
  };
  return { store: watched(store, { before, after }), died: dead };
}

describe.each([
  ['everything', undefined],
  ['rows before a date', Date.parse('2025-05-28T12:00:00Z')],
])('forgetting %s', (_, before) => {
  test('that is killed between any two calls of the store leaves a lake that can be read, and the same again completes it', async () => {
    const { lake } = await shops.copy();
    const files = await filesBelow(lake);
    const undisturbed = memoryStore(files);
    const calls: StoreCall[] = [];
    await forgot(watched(undisturbed, { before: (call) => calls.push(call) }), before);
    const expected = await stateOf(undisturbed);
    expect(calls.length).toBeGreaterThan(100);

    // Reading changes nothing: some of the calls that do are those to die at, and a few of the others.
    const points = calls.flatMap(({ method }, at) =>
      ['write', 'create', 'remove'].includes(method) || at % 20 === 0 ? [at] : [],
    );
    for (const at of points.filter((_point, index) => index % (before === undefined ? 4 : 10) === 0)) {
      const store = memoryStore(files);
      const dying = dyingAt(store, at, at % 2 === 0);
      await expect(forgot(dying.store, before), `call ${at}`).rejects.toThrow();
      expect(dying.died()).toBe(true);
      bury(store);
      await stateOf(store);
      await vacuumed(store);
      // Where only the answer of the last call got lost, the lake has nothing of the account any more.
      const isDone = before === undefined && at === calls.length - 1 && at % 2 === 0;
      if (!isDone) await forgot(store, before);
      expect(await stateOf(store), `call ${at}`).toEqual(expected);
      if (before === undefined) expect(traces(store, 'shop-a'), `call ${at}`).toEqual([]);
      for (const trace of ['901-0000001', 'GROUP-A0']) expect(traces(store, trace), `call ${at}`).toEqual([]);
    }
  });
});
