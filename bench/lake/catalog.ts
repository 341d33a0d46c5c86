import { newFileOf, noRevisions } from '../../test/lake/small-table.js';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/core/clock.js';
import { zstd } from '../../src/core/parquet/encoder/zstd.js';
import { Catalog } from '../../src/lake/catalog/catalog.js';
import { DeltaPublisher } from '../../src/lake/publish/publisher.js';
import { Lake } from '../../src/lake/lake.js';
import { SliceWriter } from '../../src/lake/slices/slice-writer.js';
import { entries, events } from '../../src/sources/finances/api-v0/event-tables.js';
import { diskStore } from '../../src/lake/store/disk.js';
import type { Store, StoredFile } from '../../src/lake/store/store.js';
import { accountOf, dayOf, metaDataOf } from './catalog-contents.js';

const days = 100;
const slices = 1000;

function open(store: Store): Promise<Catalog> {
  return Catalog.open(store, {
    clock: systemClock,
    random: () => randomBytes(6).toString('hex'),
    knownTables: ['events'],
  });
}

/** A clock of its own, which goes on when nothing is left to do: so that the machine's load changes no figure. */
class VirtualTime {
  now = 0;
  readonly #waiting: { readonly at: number; readonly wake: () => void }[] = [];

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.#waiting.push({ at: this.now + ms, wake });
    });
  }

  /** Goes on until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const done = work.finally(() => (state.isDone = true));
    while (!state.isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      // The first of those that are next: sorting is stable.
      this.#waiting.sort((a, b) => a.at - b.at);
      const next = this.#waiting.shift();
      // Something else is awaited, as a module that is loaded.
      if (next === undefined) continue;
      this.now = next.at;
      next.wake();
    }
    return done;
  }
}

/** A lake in memory whose calls take about `ms` milliseconds, in the middle of which they take effect. */
function delayedStore(files: Map<string, Uint8Array>, ms: number, time: VirtualTime): Store {
  let state = 1;
  const half = () => {
    // Calls take from 0.75 to 1.25 of it, or all writers would go in step.
    state = (state * 48_271) % 2_147_483_647;
    return (ms / 2) * (0.75 + state / 2_147_483_647 / 2);
  };
  const call = async <T>(effect: () => T): Promise<T> => {
    await time.sleep(half());
    const answer = effect();
    await time.sleep(half());
    return answer;
  };
  const below = (folder: string, after = ''): StoredFile[] =>
    [...files]
      .filter(([path]) => path.startsWith(`${folder}/`) && path > after)
      .map(([path, { length }]) => ({ path, size: length, modifiedAt: 0 }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    location: 'memory',
    address: (path) => path,
    localPath: () => undefined,
    read: (path) => call(() => files.get(path)),
    readRange: (path, start, length) => call(() => files.get(path)?.subarray(start, start + length)),
    write: (path, bytes) => call(() => void files.set(path, bytes)),
    create: (path, bytes) => call(() => !files.has(path) && files.set(path, bytes).has(path)),
    list: async function* (folder, after) {
      yield* await call(() => below(folder, after));
    },
    remove: (path) => call(() => void files.delete(path)),
    removeUnfinished: () => Promise.resolve(0),
  };
}

/** What each measurement does in a process of its own, in the folder of a lake; it returns what it says. */
const steps: Readonly<Record<string, (folder: string, number: number) => Promise<string>>> = {
  /** Fills the catalog with a file and a load key for each of 100 days of each account, and writes checkpoints. */
  fill: async (folder, accounts) => {
    const catalog = await open(diskStore(folder));
    for (let number = 0; number < accounts; number += 100) {
      const all = Array.from({ length: 100 * days }, (_, at) =>
        dayOf(accountOf(number + Math.floor(at / days)), at % days),
      );
      const tables = { events: { metaData: metaDataOf('events'), add: all.map(({ file }) => file) } };
      await catalog.commit('WRITE', () => ({ tables, keys: { set: all.map(({ key }) => key) } }));
    }
    const before = process.cpuUsage();
    await catalog.writeCheckpoint();
    const { user, system } = process.cpuUsage(before);
    await catalog.commit('WRITE', () => ({ tables: { events: { add: [dayOf(accountOf(0), days).file] } } }));
    const second = process.cpuUsage();
    await catalog.writeCheckpoint();
    const { user: copied, system: written } = process.cpuUsage(second);
    await new DeltaPublisher(diskStore(folder), catalog).publish();
    const cpu = `${((user + system) / 1e6).toFixed(2)} CPU s, where one account has changed ${((copied + written) / 1e6).toFixed(2)}`;
    return `checkpoint of ${accounts * days} files and load keys: ${cpu}`;
  },
  'open-all': async (folder) => {
    const { snapshot } = await open(diskStore(folder));
    let found = 0;
    for (const account of snapshot.accounts()) found += snapshot.filesOf('events', account).length;
    return `open, every account: ${found} files`;
  },
  'open-one': async (folder) => {
    const { snapshot } = await open(diskStore(folder));
    return `open, one account: ${snapshot.filesOf('events', accountOf(1)).length} files`;
  },
  /** Writers of one process each commit slices, at 30 ms a call by a clock of its own; each publishes after its commit. */
  commits: async (_, writers) => claims(writers, 1),
  groups: async (_, writers) => claims(writers, 16),
  /** The same of whole lakes: with their files. */
  slices: async (_, writers) => {
    const time = new VirtualTime();
    await zstd();
    return time.run(sliceCommits(time, writers));
  },
};

async function claims(writers: number, together: number): Promise<string> {
  const time = new VirtualTime();
  await zstd();
  return time.run(claimsOf(time, writers, together));
}

async function claimsOf(time: VirtualTime, writers: number, together: number): Promise<string> {
  const store = delayedStore(new Map(), 30, time);
  const catalogs: Catalog[] = [];
  for (let at = 0; at < writers; at++) catalogs.push(await open(store));
  let left = Math.min(slices, 60 * writers * together);
  const wanted = left;
  const commits = new Set<unknown>();
  let longest = 0;
  const began = time.now;
  const load = async (catalog: Catalog, publisher: DeltaPublisher, account: string, day: number) => {
    const { file, key } = dayOf(account, day);
    const names = ['entries', 'events'];
    await Promise.all(names.map((name) => store.write(`${name}/${file.path}`, new Uint8Array())));
    const start = time.now;
    const tables = Object.fromEntries(names.map((name) => [name, { metaData: metaDataOf(name), add: [file] }]));
    commits.add(await catalog.commit('WRITE', () => ({ tables, keys: { set: [key] } })));
    longest = Math.max(longest, time.now - start);
    await publisher.publish();
  };
  await Promise.all(
    catalogs.flatMap((catalog, writer) => {
      const publisher = new DeltaPublisher(store, catalog);
      return Array.from({ length: together }, async (_, lane) => {
        for (let day = lane; left > 0; day += together) {
          left--;
          await load(catalog, publisher, accountOf(writer), day);
        }
      });
    }),
  );
  const seconds = (time.now - began) / 1000;
  const rate = `${(commits.size / seconds).toFixed(1)} commits/s, ${(wanted / seconds).toFixed(0)} slices/s`;
  return `${writers} writers, ${together} slices at once: ${rate}, longest wait ${(longest / 1000).toFixed(1)} s`;
}

/** Slices of a file of two tables each, by the lake itself. */
async function sliceCommits(time: VirtualTime, writers: number): Promise<string> {
  const store = delayedStore(new Map(), 30, time);
  const clock = { now: () => Math.round(time.now), sleep: (ms: number) => time.sleep(ms) };
  const lakes: Lake[] = [];
  for (let at = 0; at < writers; at++) lakes.push(await Lake.open(store, [entries, events], clock));
  let left = 20 * writers;
  const wanted = left;
  let longest = 0;
  const began = time.now;
  await Promise.all(
    lakes.map(async (lake, number) => {
      const writer = new SliceWriter(lake, clock, noRevisions);
      for (let day = 0; left > 0; day++) {
        left--;
        const { file, key } = dayOf(accountOf(number), day);
        const start = time.now;
        await writer.commit({
          pipeline: key.pipeline,
          account: key.account,
          name: String(day),
          loadKeys: [key.key],
          main: events,
          derived: [entries],
          files: [entries, events].map((table) =>
            newFileOf(table, file.path, {
              account: key.account,
              month: '2025-01',
              name: String(day),
              loadKeys: [key.key],
              shared: { pipeline: key.pipeline, account: key.account },
              rows: 1000,
              stats: file.stats ?? '',
            }),
          ),
        });
        longest = Math.max(longest, time.now - start);
      }
    }),
  );
  const seconds = (time.now - began) / 1000;
  return `whole lakes, ${writers} writers: ${(wanted / seconds).toFixed(1)} slices/s, longest wait ${(longest / 1000).toFixed(1)} s`;
}

/**
 * Measures the catalog: opening a lake of ACCOUNTS accounts with 100 files and load keys each, and commits of several writers at 30 ms a call. `node dist/modules/bench/lake/catalog.js [ACCOUNTS]`.
 */
async function run(accounts: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  const all: readonly (readonly [string, number])[] = [
    ['fill', accounts],
    ['open-all', 0],
    ['open-one', 0],
    ...[1, 4, 16].map((writers) => ['commits', writers] as const),
    ...[1, 4, 16].map((writers) => ['groups', writers] as const),
    ...[1, 4, 16].map((writers) => ['slices', writers] as const),
  ];
  try {
    for (const [step, number] of all) {
      const words = [fileURLToPath(import.meta.url), step, folder, String(number)];
      const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] });
      const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
      if (code !== 0) throw new Error(`${step} ended with ${code ?? 'a signal'}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const [first = '1000', folder, number] = process.argv.slice(2);
const step = steps[first];
if (step === undefined || folder === undefined) {
  await run(Number(first));
} else {
  const loaded = process.cpuUsage();
  const began = performance.now();
  const said = await step(folder, Number(number));
  const { user, system } = process.cpuUsage(loaded);
  const cpu = `${((user + system) / 1e6).toFixed(2)} CPU s, ${((performance.now() - began) / 1000).toFixed(2)} s`;
  console.log(`${said}: ${cpu}, ${(process.resourceUsage().maxRSS / 1000).toFixed(0)} MB`);
}
