import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planMerges } from '../../../src/app/maintenance/compact-lake.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { financesApis } from '../../../src/sources/finances/finances-apis.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import type { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import type { DataFile } from '../../../src/lake/delta/data-file.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { defaultLimits } from '../../../src/lake/files/workspace.js';
import { fileContents, temporaryFolder } from '../lake-run.js';
import { makeLake, type MadeLake } from './made-lake.js';
import { compacted, contentsOf, copied, dataFiles, everyHash, steppingClock } from './kept-lake.js';

const clock = steppingClock();
let made: MadeLake;
beforeAll(async () => {
  made = await makeLake(clock);
});
afterAll(() => made.remove());

/** Nothing of the lake was read a second time, so that it has no history, and nothing was imported. */
const filled = financesApis.flatMap((api) => api.tables);
const mains = ['events', 'groups', 'group_events', 'order_events', 'transactions', 'order_transactions'];
/** Their load keys are orders: a file of many has a count of them. */
const byOrder = ['order_events', 'order_transactions'];

describe('a compaction', () => {
  test('changes no row of any table, and leaves one file a month', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const { summary, printed } = await compacted({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
    expect(summary.status).toBe('done');
    expect(printed).toContain('Compacted');
    for (const { name } of filled) {
      const files = await dataFiles(lake, name);
      expect(files.length, name).toBe(new Set(files.map((file) => file.split('/')[1])).size);
    }
    for (const [pipeline, main, derived] of [
      ['financial-events', 'events', 'entries'],
      ['transactions', 'transactions', 'transaction_entries'],
    ] as const) {
      const [held] = await contents.rows(
        `SELECT (SELECT count(*) FROM ${main}) AS events, (SELECT count(*) FROM ${derived}) AS entries`,
      );
      const counts = summary.pipelines[pipeline];
      expect([BigInt(counts?.['events'] ?? 0), BigInt(counts?.['entries'] ?? 0)]).toEqual([
        held?.['events'],
        held?.['entries'],
      ]);
    }
    const counts = summary.pipelines['financial-events'];
    expect(counts).toMatchObject({ slices: 3, files: 6, requests: 0, retries: 0, throttled: 0, pages: 0 });
  });

  test('of rows beyond what is sorted at once comes out as sorted, and whole', async () => {
    const [one, other] = [await copied(made.lake), await copied(made.lake)];
    const contents = await contentsOf(one, clock);
    await compacted({ lake: one, limits: { ...defaultLimits, rangeBytes: 200_000 } }, { clock });
    expect(await contents.differences()).toEqual({});
    await compacted({ lake: other }, { clock });
    const database = await openDatabase();
    for (const { name } of filled) {
      const rows = async (lake: string) => {
        const files = `read_parquet('${join(lake, name)}/*/*/*.parquet', hive_partitioning = false)`;
        // As texts: of thousands of objects `toEqual` takes seconds.
        return (await database.rows(`SELECT * FROM ${files}`)).map((row) =>
          JSON.stringify(row, (_key, cell: unknown) => (typeof cell === 'bigint' ? `${cell}n` : cell)),
        );
      };
      expect(await rows(one), name).toEqual(await rows(other));
    }
    database.close();
  });

  test('done a second time changes no byte', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const before = await everyHash(lake);
    const { printed, summary } = await compacted({ lake }, { clock });
    expect(await everyHash(lake)).toEqual(before);
    expect(printed).toContain('Nothing to do');
    expect(summary.pipelines['group-events']).toMatchObject({ slices: 0, files: 0, bytes: 0 });
  });

  test('gives the same bytes for the same files', async () => {
    const [one, other] = [await copied(made.lake), await copied(made.lake)];
    await compacted({ lake: one }, { clock });
    await compacted({ lake: other }, { clock });
    expect(await fileContents(other)).toEqual(await fileContents(one));
  });

  test('sorts events by time and entries in the order of their events', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const database = await openDatabase();
    for (const [events, entries] of [
      ['events', 'entries'],
      ['group_events', 'group_entries'],
      ['order_events', 'order_entries'],
      ['transactions', 'transaction_entries'],
      ['order_transactions', 'order_transaction_entries'],
    ] as const) {
      for (const file of await dataFiles(lake, events)) {
        const month = file.split('/').slice(0, 2).join('/');
        const own = `read_parquet('${join(lake, events, file)}', file_row_number = true)`;
        const [odd] = await database.rows(
          `SELECT count(*) AS odd FROM (SELECT effective_at < lag(effective_at) OVER (ORDER BY file_row_number) OR ` +
            `(effective_at IS NOT NULL AND lag(effective_at IS NULL) OVER (ORDER BY file_row_number)) AS odd FROM ${own}) WHERE odd`,
        );
        expect(odd, file).toEqual({ odd: 0n });
        const [misplaced] = await database.rows(
          `WITH placed AS (SELECT e.file_row_number AS here, v.file_row_number AS event, e.entry AS entry
             FROM read_parquet('${join(lake, entries, month)}/*.parquet', file_row_number = true) e JOIN ${own} v USING (event_id))
           SELECT count(*) AS odd FROM (SELECT row(event, entry) < lag(row(event, entry)) OVER (ORDER BY here) AS odd FROM placed) WHERE odd`,
        );
        expect(misplaced, file).toEqual({ odd: 0n });
      }
    }
    database.close();
  });

  test('keeps types, metadata, statistics and tags exact', async () => {
    const lake = await copied(made.lake);
    const opened = async () => Lake.open(openStore(lake), tables, clock);
    const before = await opened();
    await compacted({ lake }, { clock });
    const after = await opened();
    const database = await openDatabase();
    for (const { name: table } of after.tables) {
      const pathOf = (file: DataFile) => file.lakePath;
      const old = [...before.snapshot.files(table)];
      for (const file of after.snapshot.files(table)) {
        const address = `read_parquet('${join(lake, pathOf(file))}', hive_partitioning = false)`;
        const types = await database.rows(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${address})`);
        const [source] = old;
        if (source === undefined) throw new Error('no file before');
        const original = `read_parquet('${join(made.lake, pathOf(source))}', hive_partitioning = false)`;
        expect(types).toEqual(
          await database.rows(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${original})`),
        );
        const [pair] = await database.rows(
          `SELECT decode(value) AS told FROM parquet_kv_metadata('${join(lake, pathOf(file))}') WHERE decode(key) = 'ledgerlake'`,
        );
        expect(JSON.parse(String(pair?.['told']))).toMatchObject({
          account: 'shop',
          pipeline: file.tags?.['pipeline'],
        });

        const merged = old.filter(({ partitionValues }) => partitionValues['month'] === file.partitionValues['month']);
        expect(JSON.parse(file.stats ?? '')).toEqual(mergedStats(merged.map(({ stats }) => stats ?? '')));
        expect(file.tags?.['rows']).toBe(String(merged.reduce((sum, { tags }) => sum + Number(tags?.['rows']), 0)));
        if (file.tags?.['net'] !== undefined && table.endsWith('entries')) {
          const sums = await database.rows(
            `SELECT currency, sum(amount)::VARCHAR AS net FROM ${address} WHERE role = 'net' GROUP BY 1 ORDER BY 1`,
          );
          const net = JSON.parse(file.tags['net']) as Record<string, string>;
          expect(net).toEqual(Object.fromEntries(sums.map((row) => [String(row['currency']), String(row['net'])])));
        }
      }
    }
    database.close();
    for (const name of mains) {
      const rows = (of: Lake) => [...of.snapshot.files(name)].flatMap(({ loadKeys }) => loadKeys);
      if (!byOrder.includes(name)) expect(new Set(rows(after))).toEqual(new Set(rows(before)));
    }
    for (const pipeline of new Set(before.files().map(({ tags }) => tags?.['pipeline'] ?? ''))) {
      expect(after.snapshot.keysOf('shop', pipeline)).toEqual(before.snapshot.keysOf('shop', pipeline));
    }
    const groups = (of: Lake) =>
      [...of.snapshot.files('groups')].flatMap(({ tags }) => JSON.parse(tags?.['groups'] ?? '') as unknown[]);
    expect(new Set(groups(after).map((group) => JSON.stringify(group)))).toEqual(
      new Set(groups(before).map((group) => JSON.stringify(group))),
    );
  });

  test('changes no row for readers of a single table, at no version of its log', async () => {
    const lake = await copied(made.lake);
    const before = await Lake.open(openStore(lake), tables, clock);
    await compacted({ lake }, { clock });
    const { snapshot } = await Lake.open(openStore(lake), tables, clock);
    const versionOf = (of: Snapshot, table: string) => (of.tables.get(table)?.versions ?? 0) - 1;
    for (const { name } of before.tables) {
      const rows = new Map([...before.snapshot.files(name)].map(({ path, tags }) => [path, Number(tags?.['rows'])]));
      const total = () => [...rows.values()].reduce((sum, count) => sum + count, 0);
      const expected = total();
      for (let version = versionOf(before.snapshot, name) + 1; version <= versionOf(snapshot, name); version++) {
        const bytes = await openStore(lake).read(`${name}/_delta_log/${String(version).padStart(20, '0')}.json`);
        for (const line of Buffer.from(bytes ?? [])
          .toString()
          .trim()
          .split('\n')) {
          const { add, remove } = JSON.parse(line) as {
            add?: { path: string; dataChange: boolean; tags: Record<string, string> };
            remove?: { path: string; dataChange: boolean };
          };
          if (add !== undefined) rows.set(add.path, Number(add.tags['rows']));
          if (remove !== undefined) rows.delete(remove.path);
          expect(add?.dataChange ?? false).toBe(false);
          expect(remove?.dataChange ?? false).toBe(false);
        }
        expect(total(), `${name} at version ${version}`).toBe(expected);
      }
    }
  });

  test('merges up to the size that is aimed at', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const sizes = async () => {
      const { snapshot } = await Lake.open(openStore(lake), tables, clock);
      return [...snapshot.files('events')].map(({ size }) => size).toSorted((a, b) => a - b);
    };
    const largest = (await sizes()).at(-1) ?? 0;
    await compacted({ lake, targetBytes: largest }, { clock });
    expect(Math.max(...(await sizes()))).toBeLessThan(largest * 1.5);
    const before = await everyHash(lake);
    await compacted({ lake, targetBytes: largest }, { clock });
    expect(await everyHash(lake)).toEqual(before);
    expect(await contents.differences()).toEqual({});
  });

  test('writes a file that has nothing to be merged with once more, smaller, and never again', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    /** Who wrote the files of events, how many there are, and the bytes of their largest column. */
    const written = async () => {
      const database = await openDatabase();
      const files = `'${join(lake, 'events')}/*/*/*.parquet'`;
      const [found] = await database.rows(
        `SELECT (SELECT string_agg(DISTINCT split_part(created_by, ' ', 1)) FROM parquet_file_metadata(${files})) AS writers, ` +
          `sum(total_compressed_size)::INT AS bytes FROM parquet_metadata(${files}) WHERE path_in_schema = 'raw'`,
      );
      database.close();
      return {
        writers: found?.['writers'],
        bytes: Number(found?.['bytes']),
        files: (await dataFiles(lake, 'events')).length,
      };
    };
    const before = await written();
    expect(before).toMatchObject({ writers: 'ledgerlake' });
    // So little is aimed at that no two files are small.
    const { summary } = await compacted({ lake, targetBytes: 1000 }, { clock });
    expect(summary.pipelines['financial-events']).toMatchObject({ slices: before.files });
    const after = await written();
    expect(after).toMatchObject({ writers: 'DuckDB', files: before.files });
    expect(after.bytes).toBeLessThan(before.bytes * 0.95);
    expect(await contents.differences()).toEqual({});
    const hashes = await everyHash(lake);
    const { printed } = await compacted({ lake, targetBytes: 1000 }, { clock });
    expect(printed).toContain('Nothing to do');
    expect(await everyHash(lake)).toEqual(hashes);
  });

  test('touches only the pipelines that are named', async () => {
    const lake = await copied(made.lake);
    const before = await dataFiles(lake, 'events');
    await compacted({ lake, pipelines: ['group-events'] }, { clock });
    expect(await dataFiles(lake, 'events')).toEqual(before);
    expect((await dataFiles(lake, 'group_events')).every((file) => file.includes('compact-'))).toBe(true);
  });

  test('deletes what dead runs left, and nothing that is not the lake’s own', async () => {
    const lake = await copied(made.lake);
    const folder = join(lake, 'events', 'account=shop', 'month=2026-02');
    const left = join(folder, 'left-1-0123456789abcdef-0.parquet');
    const mine = join(folder, 'my copy.parquet');
    await writeFile(left, 'x');
    await writeFile(mine, 'none of ours');
    await compacted({ lake }, { clock });
    await expect(readFile(left)).rejects.toThrow('ENOENT');
    expect((await readFile(mine)).toString()).toBe('none of ours');
  });

  test('of a lake that holds nothing writes nothing', async () => {
    const lake = await temporaryFolder();
    const { printed } = await compacted({ lake }, { clock });
    expect(printed).toContain('Nothing to do');
    expect(await everyHash(lake)).toEqual(new Map());
  });
});

describe('what a compaction refuses', () => {
  const failing = async (damage: (file: string) => Promise<void>, table = 'events') => {
    const lake = await copied(made.lake);
    const [name = ''] = (await dataFiles(lake, table)).filter((file) => file.includes('month=2026-02'));
    await damage(join(lake, table, name));
    const before = await dataFiles(lake, 'events');
    const error: unknown = await compacted({ lake }, { clock }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LedgerlakeError);
    expect((error as LedgerlakeError).code).toBe('LAKE_STORE');
    expect((error as LedgerlakeError).message).toContain(join(lake, table, name));
    // What is damaged is left as it is, in its month.
    const after = await dataFiles(lake, 'events');
    const february = (files: string[]) => files.filter((file) => file.includes('month=2026-02'));
    expect(february(after)).toEqual(february(before));
    return (error as LedgerlakeError).message;
  };

  test('a missing file', async () => {
    expect(await failing((file) => rm(file), 'entries')).toContain('missing');
  });
  test('a file of another size', async () => {
    expect(await failing((file) => appendFile(file, 'x'))).toContain('bytes instead of');
  });
  test('a file whose bytes have changed', async () => {
    const damage = async (file: string) => {
      const bytes = Buffer.from((await openStore(join(file, '..')).read(file.split('/').at(-1) ?? '')) ?? []);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      await writeFile(file, bytes);
    };
    expect(await failing(damage, 'entries')).toContain('have changed');
  });
  test('an unknown pipeline and an account that is not there', async () => {
    const lake = await copied(made.lake);
    await expect(compacted({ lake, pipelines: ['events'] }, { clock })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(compacted({ lake, account: 'other' }, { clock })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

test('derived files name the main file of their own month', async () => {
  const lake = await Lake.open(openStore(made.lake), tables, clock);
  for (const { table, main, path, month } of lake.files()) {
    expect(table.endsWith('entries')).toBe(main !== undefined);
    expect(main ?? path).toContain(`month=${month}/`);
  }
});

function mergedStats(all: readonly string[]): unknown {
  const read = all.map(
    (text) =>
      JSON.parse(text) as {
        numRecords: number;
        minValues: Record<string, string>;
        maxValues: Record<string, string>;
        nullCount: Record<string, number>;
      },
  );
  const names = [...new Set(read.flatMap(({ nullCount }) => Object.keys(nullCount)))];
  const fold = (of: 'minValues' | 'maxValues', first: boolean) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const values = read
          .flatMap((stats) => stats[of][name] ?? [])
          .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const value = first ? values[0] : values.at(-1);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  return {
    numRecords: read.reduce((sum, { numRecords }) => sum + numRecords, 0),
    minValues: fold('minValues', true),
    maxValues: fold('maxValues', false),
    nullCount: Object.fromEntries(
      names.map((name) => [name, read.reduce((sum, { nullCount }) => sum + (nullCount[name] ?? 0), 0)]),
    ),
  };
}

describe('a plan of merges', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 40 });
  const things = (bytes: readonly number[]) => bytes.map((size, at) => ({ bytes: size, sliceBytes: 0, at }));

  test('merges neighbours up to the target, each thing once and none that is half as large', () => {
    fc.assert(
      fc.property(sizes, (bytes) => {
        const merges = planMerges(things(bytes), 100);
        const merged = merges.flat();
        expect(merged.map(({ at }) => at)).toEqual([...new Set(merged.map(({ at }) => at))].toSorted((a, b) => a - b));
        for (const merge of merges) {
          expect(merge.length).toBeGreaterThan(1);
          expect(merge.reduce((sum, thing) => sum + thing.bytes, 0)).toBeLessThanOrEqual(100);
          for (const thing of merge) expect(thing.bytes).toBeLessThan(50);
        }
      }),
    );
  });

  test('ends, however small a merge comes out, with one small thing at most', () => {
    fc.assert(
      fc.property(sizes, fc.double({ min: 0.01, max: 1.2, noNaN: true }), (bytes, shrunk) => {
        let left = things(bytes);
        for (let rounds = 0; ; rounds++) {
          expect(rounds).toBeLessThanOrEqual(bytes.length);
          const [merge] = planMerges(left, 100);
          if (merge === undefined) break;
          const sum = merge.reduce((total, thing) => total + thing.bytes, 0);
          const at = merge[0]?.at ?? 0;
          left = [
            ...left.filter((thing) => !merge.includes(thing)),
            { bytes: Math.max(1, sum * shrunk), sliceBytes: 0, at },
          ];
          left.sort((a, b) => a.at - b.at);
        }
        expect(left.filter((thing) => thing.bytes < 50).length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('what is large enough is written again for its landed bytes alone, behind the merges and once', () => {
    const landed = (bytes: number, sliceBytes: number) => ({ bytes, sliceBytes });
    const [one, other, large, written, small] = [
      landed(30e6, 30e6),
      landed(31e6, 0),
      landed(90e6, 90e6),
      landed(90e6, 0),
      landed(90e6, 700_000),
    ];
    expect(planMerges([one, large, other, written, small], 100e6)).toEqual([[one, other], [large]]);
    expect(planMerges([one, written], 100e6)).toEqual([[one]]);
    expect(planMerges([other, written, small], 100e6)).toEqual([]);
  });
});
