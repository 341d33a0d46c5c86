import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { DeltaTable } from '../../../src/lake/delta/delta-table.js';
import type { Store } from '../../../src/lake/store/store.js';
import { acquireLease } from '../../../src/lake/upkeep/leases.js';
import { fileHashes } from '../lake-run.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { Lake } from '../../../src/lake/lake.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { verified } from '../verify/verified.js';
import {
  type Contents,
  compacted,
  contentsOf,
  copied,
  dataFiles,
  everyHash,
  loaded,
  rebuilt,
  steppingClock,
} from './kept-lake.js';
import { refreshed } from '../reconcile/revised-lake.js';
import { failingStore } from './failing-store.js';
import { makeLake, type MadeLake } from './made-lake.js';
import { shipment, smallLake, within } from './small-lake.js';

const clock = steppingClock();
/** Each rebuilds a lake of two months, reads it again and verifies it. */
let made: MadeLake;
beforeAll(async () => {
  made = await makeLake(clock, { events: 120, orders: 10 });
});
afterAll(() => made.remove());

async function commitsOf(lake: string, table: string): Promise<string[]> {
  const files = await readdir(join(lake, table, '_delta_log'));
  return files
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(lake, table, '_delta_log', name));
}

/** Runs the commands that a rebuild of logs has printed. */
async function runPrinted(lake: string, printed: string): Promise<number> {
  const commands = printed.split('\n').filter((line) => /^ {2}(printf|ledgerlake)/.test(line));
  for (const line of commands) {
    const [, ids, words = ''] = /^ {2}(?:printf '%s\\n' (.*) \| )?ledgerlake backfill (.*)$/.exec(line) ?? [];
    const given = (option: string) => new RegExp(`--${option} (\\S+)`).exec(words)?.[1];
    expect(given('lake')).toBe(lake);
    const named = words.split(' ');
    const pipelines = named.slice(
      0,
      named.findIndex((word) => word.startsWith('--')),
    );
    await loaded(lake, made.endpoint, clock, {
      ...{ pipelines, account: given('account'), refresh: line.endsWith('--refresh') },
      ...(ids === undefined ? { from: given('from'), to: given('to') } : {}),
      ...(ids !== undefined && { orders: { text: ids.replaceAll(' ', '\n'), source: 'orders' } }),
    });
  }
  return commands.length;
}

async function isOpened(lake: string): Promise<boolean> {
  return Lake.open(openStore(lake), tables, clock).then(
    () => true,
    () => false,
  );
}

type Damage = (lake: string, table: string) => Promise<void>;

const damages: Readonly<Record<string, Damage>> = {
  'whose last commit is cut off': async (lake, table) => truncate((await commitsOf(lake, table)).at(-1) ?? '', 200),
  'whose last commit is gone': async (lake, table) => rm((await commitsOf(lake, table)).at(-1) ?? ''),
  'that lacks a commit in its middle': async (lake, table) => {
    const commits = await commitsOf(lake, table);
    await rm(commits[commits.length >> 1] ?? '');
  },
  'that lacks its first commit': async (lake, table) => rm((await commitsOf(lake, table))[0] ?? ''),
  'that lacks its checkpoint and all commits before': async (lake, table) => {
    const schema = tables.find(({ name }) => name === table);
    if (schema === undefined) throw new Error(`no table ${table}`);
    const opened = new DeltaTable(schema, openStore(lake), clock);
    await opened.refresh();
    for (let at = 0; at < 25; at++) await opened.commit('FENCE', () => []);
    const names = await readdir(join(lake, table, '_delta_log'));
    const checkpoint = names.find((name) => name.endsWith('.checkpoint.parquet')) ?? '';
    expect(checkpoint).not.toBe('');
    const gone = names.filter((name) => name <= checkpoint);
    for (const name of gone) await rm(join(lake, table, '_delta_log', name));
  },
  'that is gone': async (lake, table) => rm(join(lake, table, '_delta_log'), { recursive: true }),
  'in whose place another one was put': async (lake, table) => {
    await rm(join(lake, table, '_delta_log'), { recursive: true });
    const other = table === 'order_events' ? 'events' : 'order_events';
    await cp(join(lake, other, '_delta_log'), join(lake, table, '_delta_log'), { recursive: true });
  },
};

/** Everything is as it was before the lake was damaged, and `verify` finds nothing. */
async function expectWhole(lake: string, contents: Contents): Promise<void> {
  expect(await contents.differences()).toEqual({});
  const { code, problems } = await verified({ root: lake, clock });
  expect(problems.filter(({ kind }) => kind !== 'upstream')).toEqual([]);
  expect(code).toBe(0);
}

async function setAside(lake: string): Promise<string[]> {
  const files = await readdir(join(lake, '_set-aside'), { recursive: true });
  return files
    .filter((name) => name.endsWith('.parquet') && !name.includes('_delta_log'))
    .map((name) => basename(name));
}

/** Puts a file beside another one of the same slice, named as a run names its files, with other rows. */
async function addLeftover(lake: string, table: string, name: string, query: string): Promise<string> {
  const database = await openDatabase();
  const file = join(lake, table, name);
  const target = join(lake, '..', 'leftover.parquet');
  const [footer] = await database.rows(
    `SELECT decode(value) AS value FROM parquet_kv_metadata(${literal(file)}) WHERE decode(key) = 'ledgerlake'`,
  );
  const rows = `read_parquet(${literal(file)}, hive_partitioning = false)`;
  const metadata = `KV_METADATA {ledgerlake: ${literal(String(footer?.['value']))}}`;
  await database.execute(`COPY (${query.replace('FILE', rows)}) TO ${literal(target)} (FORMAT parquet, ${metadata})`);
  database.close();
  const hash = createHash('sha256')
    .update(await readFile(target))
    .digest('hex')
    .slice(0, 16);
  const added = name.replace(/-[0-9a-f]{16}\.parquet$/, `-${hash}.parquet`);
  await cp(target, join(lake, table, added));
  return added;
}

/** A lake of some windows, gone when the test ends. */
async function aSmallLake(windows: number): Promise<string> {
  const small = await smallLake(clock, windows);
  onTestFinished(() => small.remove());
  return small.lake;
}

/** A store whose files DuckDB can't open. */
function remote(lake: string): Store {
  return { ...openStore(lake), localPath: () => undefined };
}

describe('a log', () => {
  test.each(Object.keys(damages))(
    '%s is written anew, and the backfill that is printed brings the rest',
    async (damage) => {
      const lake = await copied(made.lake);
      const contents = await contentsOf(lake, clock);
      for (const table of ['events', 'transactions', 'groups']) await damages[damage]?.(lake, table);
      expect(await isOpened(lake)).toBe(false);
      const { printed } = await rebuilt({ lake, log: { confirm: true } }, { clock });
      await runPrinted(lake, printed);
      await expectWhole(lake, contents);
      if (damage === 'that is gone') return;
      const [stamp = ''] = await readdir(join(lake, '_set-aside'));
      expect(await readdir(join(lake, '_set-aside', stamp, 'events', '_delta_log'))).not.toEqual([]);
    },
  );

  test.each(['events', 'entries'])(
    'of %s that lost its last commit together with the note of the versions is written anew without being named',
    async (table) => {
      const lake = await copied(made.lake);
      const contents = await contentsOf(lake, clock);
      await rm((await commitsOf(lake, table)).at(-1) ?? '');
      await rm(join(lake, '_versions.json'));
      await rebuilt({ lake, log: { confirm: true } }, { clock });
      await expectWhole(lake, contents);
    },
  );

  test('of each other table is written anew too, also where DuckDB reaches no file of the lake', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const all = ['entries', 'group_events', 'order_events', 'order_transactions', 'payouts', 'settlement_summaries'];
    for (const table of all) await damages['that is gone']?.(lake, table);
    const { printed } = await rebuilt({ lake, store: remote(lake), log: { confirm: true } }, { clock });
    await runPrinted(lake, printed);
    await expectWhole(lake, contents);
  });

  test('that can be read is left alone, unless its pipeline is named', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const before = await everyHash(lake);
    const { printed } = await rebuilt({ lake, log: { confirm: true } }, { clock });
    expect(printed).toContain('Nothing to do');
    expect(await everyHash(lake)).toEqual(before);
    const named = await rebuilt({ lake, pipelines: ['financial-events'], log: { confirm: true } }, { clock });
    expect(named.printed).not.toContain('Not loaded any more');
    // Its entries are derived after that.
    expect(named.printed).toMatch(/^events +\d+ +[\d,]+$/m);
    expect(named.printed).not.toMatch(/^entries +0/m);
    expect(named.printed).not.toContain('ledgerlake backfill');
    await expectWhole(lake, contents);
    // What the new log says is loaded isn't asked for again.
    const again = await loaded(lake, made.endpoint, clock, { pipelines: ['financial-events'] });
    expect(again.summary.pipelines['financial-events']).toMatchObject({ requests: 0 });
  });

  test('of merged files beside those that they replaced doubles nothing', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    for (const table of ['events', 'transactions']) {
      for (const name of await dataFiles(made.lake, table))
        await cp(join(made.lake, table, name), join(lake, table, name));
      await damages['that is gone']?.(lake, table);
    }
    const { printed } = await rebuilt({ lake, log: { confirm: true } }, { clock });
    expect((await contents.rows('SELECT count(*) - count(DISTINCT event_id) AS twice FROM events'))[0]).toEqual({
      twice: 0n,
    });
    await runPrinted(lake, printed);
    await expectWhole(lake, contents);
  });

  test('of a window that two files claim leaves both out, and the window is read again', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const [name = ''] = await dataFiles(lake, 'events');
    const added = await addLeftover(lake, 'events', name, 'SELECT * FROM FILE LIMIT 3');
    await damages['whose last commit is cut off']?.(lake, 'events');
    const { printed } = await rebuilt({ lake, log: { confirm: true } }, { clock });
    expect(printed).toMatch(/Not loaded any more: window\/2026-01-24/);
    expect(await setAside(lake)).toEqual(expect.arrayContaining([basename(name), basename(added)]));
    await runPrinted(lake, printed);
    await expectWhole(lake, contents);
  });

  test('beside a damaged file and a foreign one moves both, and reads the window again', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const [, name = ''] = await dataFiles(lake, 'transactions');
    await truncate(join(lake, 'transactions', name), 900);
    await cp(join(lake, 'transactions', name), join(lake, 'transactions', dirname(name), 'mine.parquet'));
    await damages['that lacks its first commit']?.(lake, 'transactions');
    const { printed } = await rebuilt({ lake, log: { confirm: true } }, { clock });
    expect(await setAside(lake)).toEqual(expect.arrayContaining([basename(name), 'mine.parquet']));
    await runPrinted(lake, printed);
    await expectWhole(lake, contents);
  });

  test.each([['event_history'], ['events'], ['events', 'event_history']])(
    'of %s keeps what the history has',
    async (...damaged) => {
      const lake = await aSmallLake(3);
      await refreshed(lake, new Map([[2, [shipment(within(2, 5), 'order-new'), shipment(within(2), 'order-2-0')]]]), {
        clock,
      });
      const contents = await contentsOf(lake, clock);
      const [row] = await contents.rows('SELECT count(*) AS rows FROM was_event_history');
      expect(Number(row?.['rows'])).toBeGreaterThan(1);
      for (const table of damaged) await damages['that is gone']?.(lake, table);
      await rebuilt({ lake, log: { confirm: true } }, { clock });
      expect(await contents.differences()).toEqual({});
      await rebuilt({ lake }, { clock });
      expect(await contents.differences()).toEqual({});
    },
  );

  test('that is written anew by a run that dies at any change is written by the next', async () => {
    const whole = await aSmallLake(1);
    const contents = await contentsOf(whole, clock);
    const first = (await dataFiles(whole, 'events'))[0] ?? '';
    for (let dieAt = 1; ; dieAt++) {
      const lake = await copied(whole);
      await addLeftover(lake, 'events', first, 'SELECT * FROM FILE');
      await damages['that is gone']?.(lake, 'events');
      const store = failingStore(openStore(lake), dieAt);
      const failure: unknown = await rebuilt({ lake, store, log: { confirm: true } }, { clock }).catch(
        (error: unknown) => error,
      );
      if (store.changes < dieAt) break;
      expect(failure, `change ${dieAt}`).toBeInstanceOf(Error);
      await rm(join(lake, '_runs'), { recursive: true, force: true });
      await rebuilt({ lake, log: { confirm: true } }, { clock });
      expect(await contents.differences(lake), `change ${dieAt}`).toEqual({});
      expect(await setAside(lake), `change ${dieAt}`).toContainEqual(expect.stringMatching(/^window-1-/));
    }
  });

  test('stays as it is where nobody confirms, and while another run is at work', async () => {
    const lake = await copied(made.lake);
    await damages['that is gone']?.(lake, 'events');
    const before = await everyHash(lake);
    const data = await fileHashes(lake);
    const asked: string[] = [];
    const confirm = (question: string) => {
      asked.push(question);
      return Promise.resolve(false);
    };
    await expect(rebuilt({ lake, log: { confirm: undefined } }, { clock })).rejects.toMatchObject({ exitCode: 2 });
    expect(await everyHash(lake)).toEqual(before);
    await expect(rebuilt({ lake, log: { confirm } }, { clock })).rejects.toMatchObject({ code: 'STOPPED' });
    expect(asked).toEqual([expect.stringMatching(/^Write the logs of events, entries anew in .*_set-aside/)]);
    const lease = await acquireLease(openStore(lake), clock);
    await expect(rebuilt({ lake, log: { confirm: true } }, { clock })).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    await lease.release();
    expect(await fileHashes(lake)).toEqual(data);
  });
});
