import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { database, ran } from '../lake-run.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';
import { smallBackend } from '../verify/small-backend.js';
import { addsOf, changeAdd } from '../verify/damage.js';
import { verified } from '../verify/verified.js';
import { compacted, everyHash } from '../maintenance/kept-lake.js';
import { repaired } from './repaired.js';

const orders = ['111-0000000-0000001', '111-0000000-0000014'];
const range = { from: '2025-02-20', to: '2025-03-08', account: 'shop' };

/** A young lake, and one with checkpoints of the catalog and of each log. */
let young: LoadedLake;
let old: LoadedLake;
let server: Awaited<ReturnType<typeof startApiServer>>;
beforeAll(async () => {
  young = await loadedLake(undefined, [{ to: '2025-03-02' }, {}, { pipelines: ['order-events'], orders }]);
  old = young.copy();
  const lake = await Lake.open(diskStore(old.root), tables, old.clock);
  for (let hours = 1; hours <= 25; hours++) await lake.setRetention(hours);
  await lake.setRetention(0);
  server = await startApiServer({ backend: smallBackend(), clock: young.clock });
});
afterAll(async () => {
  await server.close();
  for (const lake of [young, old]) lake.remove();
});

/** What a window decides: two that are loaded again may become one. */
const ofWindow = ['window_start', 'window_end', 'position', 'event_id', 'effective_at'].map((name) => `'${name}'`);

/** How many rows each table has, and what they come to. */
async function rowsOf({ root, clock }: LoadedLake): Promise<readonly unknown[]> {
  const filled = ['events', 'entries', 'groups', 'group_events', 'group_entries', 'order_events', 'order_entries'];
  const selects = filled.map(
    (name) =>
      `SELECT '${name}' AS name, count(*) AS rows, sum(hash(of)) AS hash FROM ` +
      `(SELECT COLUMNS(name -> name NOT IN (${ofWindow.join(', ')})) FROM ${name}) AS of`,
  );
  const query = selects.join(' UNION ALL ');
  return [...(await (await database(root, clock, query)).rows(`${query} ORDER BY ALL`))];
}

async function loadAgain({ root, clock }: LoadedLake): Promise<void> {
  const common = { lake: root, endpoint: server.url, ...range };
  await ran(common, { clock });
  await ran({ ...common, pipelines: ['order-events'], orders }, { clock });
}

/** The files that may be damaged, in order. */
function filesOf(root: string): string[] {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
  return paths.filter((path) => /^_catalog\/|\/_delta_log\/|\.parquet$/.test(path) && /\.|_last/.test(path.slice(-20)));
}

/** A number from 0 on below `most`, by a seed. */
function chooser(seed: number): (most: number) => number {
  let state = seed * 2654435761 + 12345;
  return (most) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return state % most;
  };
}

function damage(path: string, kind: number): void {
  const bytes = readFileSync(path);
  if (kind === 0 || bytes.length < 4) rmSync(path);
  else if (kind === 1) truncateSync(path, bytes.length >> 1);
  else {
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  }
}

const trials = [1, 2, 5].flatMap((damages) =>
  Array.from({ length: 6 }, (_, at) => [damages, at, at % 2 === 0 ? 'young' : 'old'] as const),
);

test.each(trials)(
  '%i damages, seed %i, of a lake that is %s are repaired, and what is lost is loaded again',
  async (damages, seed, age) => {
    const lake = (age === 'young' ? young : old).copy();
    try {
      const { catalog } = await verified(lake);
      const choose = chooser(seed + 100 * damages);
      const chosen = Array.from({ length: damages }, () => {
        const files = filesOf(lake.root);
        const path = files[choose(files.length)] ?? '';
        damage(join(lake.root, path), choose(3));
        return path;
      });
      const before = await everyHash(lake.root);
      const asked = await repaired(lake, false);
      expect(await everyHash(lake.root)).toEqual(before);
      const done = await repaired(lake);
      expect([done.code, chosen], done.text).toEqual([0, chosen]);
      expect(asked.text === done.text || asked.code === 1).toBe(true);
      const proof = (done.summary['lost'] as unknown[]).length > 0 ? undefined : `${catalog?.version}:${catalog?.hash}`;
      const result = await verified(lake, false, proof);
      expect([result.code, result.problems.filter(({ kind }) => kind === 'lake')], done.text).toEqual([0, []]);
      await loadAgain(lake);
      expect(await rowsOf(lake), done.text).toEqual(await rowsOf(young));
      expect((await repaired(lake, false)).code).toBe(0);
    } finally {
      lake.remove();
    }
  },
  60_000,
);

test.each(['young', 'old', 'compacted'])(
  'a lake that is %s and has lost its catalog and logs adopts its files',
  async (age) => {
    const lake = (age === 'old' ? old : young).copy();
    try {
      if (age === 'compacted') await compacted({ lake: lake.root }, { clock: lake.clock });
      const folders = readdirSync(lake.root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
      for (const lost of ['_catalog', ...folders.map(({ name }) => join(name, '_delta_log'))])
        rmSync(join(lake.root, lost), { recursive: true, force: true });
      await expect(verified(lake)).rejects.toThrow('repair');
      expect(await repaired(lake, false)).toMatchObject({ code: 1 });
      const done = await repaired(lake);
      expect([done.code, done.summary['left_aside']]).toEqual([0, []]);
      const files = (done.summary['adopted'] as unknown[]).length;
      expect(done.text).toMatch(
        new RegExp(`: \\d+ commits? lost, ${files} data files with \\d+ load keys adopted, 0 left aside; `),
      );
      const result = await verified(lake);
      expect([result.code, result.problems], done.text).toEqual([0, []]);
      expect(await rowsOf(lake)).toEqual(await rowsOf(young));
      await loadAgain(lake);
      expect(await rowsOf(lake)).toEqual(await rowsOf(young));
      expect(await verified(lake)).toMatchObject({ code: 0, problems: [] });
    } finally {
      lake.remove();
    }
  },
  60_000,
);

test.each(['flipped', 'swapped'] as const)(
  'what a merge had replaced is loaded again where its commit and a publication of it are lost: %s',
  async (harm) => {
    const lake = young.copy();
    try {
      await compacted({ lake: lake.root }, { clock: lake.clock });
      rmSync(join(lake.root, '_catalog'), { recursive: true });
      const logs = readdirSync(join(lake.root, 'events/_delta_log')).filter((name) => name.endsWith('.json'));
      const newest = join(lake.root, 'events/_delta_log', logs.toSorted().at(-1) ?? '');
      if (harm === 'flipped') damage(newest, 2);
      else {
        const first = join(lake.root, 'entries/_delta_log', `${'0'.repeat(20)}.json`);
        const bytes = readFileSync(newest);
        writeFileSync(newest, readFileSync(first));
        writeFileSync(first, bytes);
      }
      const done = await repaired(lake);
      expect(done.code, done.text).toBe(0);
      await loadAgain(lake);
      expect(await rowsOf(lake), done.text).toEqual(await rowsOf(young));
      expect(await verified(lake)).toMatchObject({ code: 0, problems: [] });
    } finally {
      lake.remove();
    }
  },
  60_000,
);

test(
  'a damaged file beside one whose statistics are wrong is repaired by one command',
  { timeout: 60_000 },
  async () => {
    const lake = young.copy();
    try {
      const [first, second] = addsOf(lake.root, 'events');
      const stats = JSON.stringify({ ...(JSON.parse(first?.stats ?? '{}') as object), numRecords: 77 });
      changeAdd(lake.root, 'events', first?.path ?? '', (add) => ({ ...add, stats }));
      damage(join(lake.root, 'events', second?.path ?? ''), 2);
      const done = await repaired(lake);
      expect(done.code, done.text).toBe(0);
      expect(done.summary['files']).toHaveLength(2);
      const result = await verified(lake);
      expect([result.code, result.problems.filter(({ kind }) => kind === 'lake')], done.text).toEqual([0, []]);
      await loadAgain(lake);
      expect(await rowsOf(lake)).toEqual(await rowsOf(young));
    } finally {
      lake.remove();
    }
  },
);
