import { succeeded } from '../ended.js';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RunContext } from '../../../src/app/context.js';
import { forget, type ForgetOptions } from '../../../src/app/forget/forget.js';
import { status } from '../../../src/app/status/status.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { zstd } from '../../../src/core/parquet/encoder/zstd.js';
import { financesApis } from '../../../src/sources/finances/finances-apis.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { groups } from '../../../src/sources/finances/api-v0/event-tables.js';
import { makeLakeFolder } from '../../../src/lake/files/workspace.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { Lake } from '../../../src/lake/lake.js';
import { readLastRuns, writeLastRun } from '../../../src/lake/upkeep/last-run.js';
import type { LakeStatus } from '../../../src/app/results.js';
import { thisWriter } from '../../../src/lake/store/writer-name.js';
import { Kept } from '../../core/text/streams.js';
import { hashesOf } from '../../lake/hashes-of.js';
import { newFileOf } from '../../lake/small-table.js';
import { database, fileHashes, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import { clock, filesBelow, orderId, shopsTemplate, type ShopsTemplate } from '../two-shops.js';
import { failureOf } from '../../failure-of.js';
import { verified } from '../verify/verified.js';

let shops: ShopsTemplate;
beforeAll(async () => {
  shops = await shopsTemplate();
});
afterAll(() => shops.close());

/** Forgets without asking; what it printed. */
async function forgot(options: Partial<ForgetOptions>, context: Partial<RunContext> = {}): Promise<string> {
  const { signal } = new AbortController();
  const { printed } = await succeeded(
    forget(
      { lake: '', account: 'shop-a', before: undefined, yes: true, ...options },
      { clock, signal, emit: () => undefined, confirm: undefined, ...context },
    ),
  );
  return printed;
}

/** What `status` prints of an account's range. */
async function shown(lake: string, account: string, format: 'json' | 'table'): Promise<string> {
  const output = new Kept(80);
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  await status({ lake, account, from: '2025-04-01', to: '2025-06-30', format, color: false }, context);
  return output.text;
}

/** Everything that can be read below a folder, unpacked: names, bytes, and of Parquet rows, metadata and statistics. */
async function everything(folder: string): Promise<string> {
  const opened = await openDatabase();
  try {
    const texts: string[] = [];
    // Files of one kind at once: a query each would take most of the test's time.
    const kinds = new Map<string, string[]>();
    for (const [path, bytes] of await filesBelow(folder)) {
      texts.push(path, Buffer.from(bytes).toString('latin1'));
      const kind = /^[^/]+\/(_delta_log\/)?/.exec(path)?.[0] ?? '';
      if (path.endsWith('.checkpoint')) texts.push(...(await checkpointTexts(bytes)));
      if (path.endsWith('.parquet')) kinds.set(kind, [...(kinds.get(kind) ?? []), literal(join(folder, path))]);
    }
    for (const files of kinds.values()) {
      const list = `[${files.join(', ')}]`;
      const rows = `read_parquet(${list}, union_by_name = true, hive_partitioning = false)`;
      for (const from of [rows, `parquet_metadata(${list})`]) {
        for (const row of await opened.rows(`SELECT COLUMNS(*)::VARCHAR FROM ${from}`)) texts.push(JSON.stringify(row));
      }
      const pairs = await opened.rows(`SELECT decode(value) AS v FROM parquet_kv_metadata(${list})`);
      texts.push(JSON.stringify(pairs));
    }
    return texts.join('\n');
  } finally {
    opened.close();
  }
}

/** The documents of a catalog's checkpoint: its head, then a block for each account. */
async function checkpointTexts(bytes: Uint8Array): Promise<string[]> {
  const { decompress } = await zstd();
  const decoded = (from: number, length: number, size: number) =>
    Buffer.from(decompress(bytes.subarray(from, from + length), size)).toString();
  const lengths = Buffer.from(bytes);
  const head = decoded(8, lengths.readUInt32LE(0), lengths.readUInt32LE(4));
  const { blocks } = JSON.parse(head) as { blocks: [string, number, number, string][] };
  let at = 8 + lengths.readUInt32LE(0);
  return [head, ...blocks.map(([, length, size]) => decoded((at += length) - length, length, size))];
}

/** The versions of the catalog that have more than a stub, once the chain of hashes is checked. */
async function wholeVersions(lake: string): Promise<{ versions: number; whole: number[] }> {
  const whole: number[] = [];
  let previous = '0'.repeat(64);
  const names = (await readdir(join(lake, '_catalog'))).filter((name) => /^\d{20}\.json$/.test(name)).toSorted();
  for (const [version, name] of names.entries()) {
    const text = await readFile(join(lake, '_catalog', name), 'utf8');
    const commit = JSON.parse(text) as { version: number; previous: string; sha256: string; erased?: string };
    const sealed = text.slice(0, text.lastIndexOf(',"sha256":'));
    expect(createHash('sha256').update(`${sealed}}`).digest('hex')).toBe(commit.sha256);
    expect([commit.version, commit.previous]).toEqual([version, previous]);
    previous = commit.erased ?? commit.sha256;
    if (commit.erased === undefined) whole.push(version);
  }
  return { versions: names.length, whole };
}

const allTables = tables.map(({ name }) => name);
/** Those that have a log: nothing was read a second time, so that there is no history, and nothing was imported. */
const logged = financesApis.flatMap((api) => api.tables.map(({ name }) => name));

/** Rows of every table by account, what distinguishes them included. */
async function rowsOf(lake: string): Promise<Record<string, unknown>> {
  const opened = await database(lake, clock);
  const rows: Record<string, unknown> = {};
  for (const table of allTables) rows[table] = await opened.rows(`SELECT * FROM ${table} ORDER BY ALL`);
  return rows;
}

/** Files of one shop only. */
function ofShop(hashes: Map<string, string>, shop: string): Map<string, string> {
  return new Map([...hashes].filter(([path]) => path.includes(`account=${shop}/`)));
}

/**
 * The files of a table as any reader of the Delta protocol finds them: the checkpoint that `_last_checkpoint` names,
 * and the commits behind it.
 */
async function filesByProtocol(lake: string, table: string): Promise<string[]> {
  const log = join(lake, table, '_delta_log');
  const padded = (version: number) => String(version).padStart(20, '0');
  const { version } = JSON.parse(await readFile(join(log, '_last_checkpoint'), 'utf8')) as { version: number };
  const opened = await openDatabase();
  const checkpoint = literal(join(log, `${padded(version)}.checkpoint.parquet`));
  const adds = await opened.rows(`SELECT add.path AS path FROM ${checkpoint} WHERE add IS NOT NULL`);
  opened.close();
  const paths = new Set(adds.map(({ path }) => String(path)));
  const names = [...(await filesBelow(log)).keys()].filter((name) => /^\d{20}\.json$/.test(name)).toSorted();
  expect(names[0]).toBe(`${padded(version)}.json`);
  for (const [at, name] of names.entries()) expect(name).toBe(`${padded(version + at)}.json`);
  for (const name of names.slice(1)) {
    for (const line of (await readFile(join(log, name), 'utf8')).trim().split('\n')) {
      const { add, remove } = JSON.parse(line) as Partial<Record<'add' | 'remove', { path: string }>>;
      if (add !== undefined) paths.add(add.path);
      if (remove !== undefined) paths.delete(remove.path);
    }
  }
  return [...paths].map((path) => `${table}/${path}`).toSorted();
}

async function expectLogsToNameTheFiles(lake: string): Promise<void> {
  const named = (await Promise.all(logged.map((table) => filesByProtocol(lake, table)))).flat();
  expect([...(await fileHashes(lake)).keys()].toSorted()).toEqual(named.toSorted());
}

/** Commits a file of an account's groups. */
async function addGroups(lake: Lake, account: string): Promise<void> {
  await lake.commitFiles({
    operation: 'WRITE',
    main: groups,
    files: [
      newFileOf(groups, `groups of ${account}`, {
        account,
        month: '2026-01',
        shared: { pipeline: 'financial-event-groups', account },
      }),
    ],
    replaced: () => ({ removed: [] }),
  });
}

describe('an account that is forgotten', () => {
  test('leaves nothing in the lake, and the other one as it was', async () => {
    const { lake, reload } = await shops.copy();
    const rows = await rowsOf(lake);
    const hashes = await fileHashes(lake);
    expect(await everything(lake)).toMatch(/901-0000000/);

    const printed = await forgot({ lake });
    const text = await everything(lake);
    // Of an order id more than its first digits: a file's random id may hold "901-" as well.
    for (const trace of [/shop-a/, /901-\d{7}/, /GROUP-A/, /SKU-A/]) expect(text).not.toMatch(trace);
    expect(await fileHashes(lake)).toEqual(ofShop(hashes, 'shop-b'));
    await expectLogsToNameTheFiles(lake);
    expect(printed).toMatch(/^ {2}events +13 +\d+ +\d/m);
    const summary = JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '') as { tables: unknown };
    expect(summary.tables).toContainEqual(expect.objectContaining({ table: 'groups', rows: 3 }));

    expect(await reload('shop-b')).toBe(0);
    expect(await reload('shop-a')).toBeGreaterThan(10);
    expect(await rowsOf(lake)).toEqual(rows);
  });

  test.each([
    ['everything', undefined, /shop-a|901-\d{7}|GROUP-A|SKU-A/],
    ['rows before a date', '2025-05-28T12:00:00Z', /901-000000[12]|GROUP-A[01]|SKU-A[012]/],
  ])('leaves no byte of %s that was retained, and the commits as stubs of a whole chain', async (_, before, traces) => {
    const { lake } = await shops.copy();
    await compacted({ lake, retentionHours: 24 }, { clock });
    expect([...(await Lake.open(diskStore(lake), tables, clock)).snapshot.retired()].length).toBeGreaterThan(10);
    expect(await everything(lake)).toMatch(traces);
    await forgot({ lake, before });
    expect(await everything(lake)).not.toMatch(traces);
    const { versions, whole } = await wholeVersions(lake);
    expect(whole).toEqual([versions - 1]);
    const { snapshot } = await Lake.open(diskStore(lake), tables, clock);
    expect(snapshot.version).toBe(versions - 1);
    // What was retained of the other shop stays.
    const retired = [...snapshot.retired()].map(([path]) => path);
    expect(retired.length).toBeGreaterThan(5);
    for (const path of retired) {
      expect(path).toContain('account=shop-b/');
      expect(existsSync(join(lake, path)), path).toBe(true);
    }
  });

  test.each(['version', 'events', 'sha256', 'ERASE'])(
    'may be named %s, as words of the catalog are',
    async (account) => {
      const lake = await temporaryFolder();
      for (const name of [account, 'other']) await addGroups(await Lake.open(diskStore(lake), tables, clock), name);
      await forgot({ lake, account });
      const { snapshot } = await Lake.open(diskStore(lake), tables, clock);
      expect([...snapshot.accounts()]).toEqual(['other']);
      const { versions } = await wholeVersions(lake);
      expect(versions).toBe(snapshot.version + 1);
      await addGroups(await Lake.open(diskStore(lake), tables, clock), 'third');
    },
  );

  test('is unknown then, and the lake names those it holds', async () => {
    const { lake } = await shops.copy();
    await forgot({ lake });
    const error = await failureOf(forgot({ lake }));
    expect([error.exitCode, error.message]).toEqual([
      2,
      `expected --account to be an account of ${lake} (shop-b), got "shop-a"`,
    ]);
  });

  test('of which a run has left a note alone, is known, and the notes of the others stay', async () => {
    const { lake } = await shops.copy();
    const store = diskStore(lake);
    const [run] = (await readLastRuns(store)).values();
    if (run === undefined) throw new Error('expected the note of a run');
    await forgot({ lake });
    await writeLastRun(store, { ...run, account: 'shop-a' });
    await writeLastRun(store, { ...run, account: 'shop-b' });
    await forgot({ lake });
    expect([...(await readLastRuns(store)).keys()]).toEqual(['shop-b']);
  });

  test('takes journals, notes and what dead runs left with it, whoever left it', async () => {
    const { lake } = await shops.copy();
    const dead = [
      'events/account=shop-a/month=2025-06/dead.parquet',
      'entries/account=shop-b/month=2025-06/d-0-0123456789abcdef-0.parquet',
    ];
    const own = ['_journal/shop-a/x/pages', '_runs/shop-a.json', '_notes.json', '_tmp/0123456789abcdef-1-1-00000000-0'];
    const others = ['_journal/shop-b/x/pages', '_other.json'];
    for (const path of [...dead, ...own, ...others]) {
      await mkdir(join(lake, path, '..'), { recursive: true });
      await writeFile(join(lake, path), path === '_notes.json' ? '{"account":"shop-a"}' : '901-pages');
    }
    await forgot({ lake });
    const left = [...(await filesBelow(lake)).keys()];
    for (const path of [...dead, ...own]) expect(left).not.toContain(path);
    for (const path of others) expect(left).toContain(path);
  });

  test('takes pages that lie elsewhere, as those of a lake on S3 do; before a date the level of the quota stays', async () => {
    const { lake } = await shops.copy();
    const journal = join(lake, '..', 'elsewhere');
    const write = async (path: string): Promise<void> => {
      await mkdir(join(journal, path, '..'), { recursive: true });
      await writeFile(join(journal, path), 'x');
    };
    for (const path of ['shop-a/pages/a/1.page', 'shop-a/quota-1.json', 'shop-b/pages/b/1.page']) await write(path);
    await forgot({ lake, journal, before: '2025-05-28T12:00:00Z' });
    expect([...(await filesBelow(journal)).keys()].toSorted()).toEqual([
      'shop-a/quota-1.json',
      'shop-b/pages/b/1.page',
    ]);
    await forgot({ lake, journal });
    expect([...(await filesBelow(journal)).keys()]).toEqual(['shop-b/pages/b/1.page']);
  });

  test('takes from a folder of the user’s own only what runs have put there, and follows no link', async () => {
    const { lake } = await shops.copy();
    const journal = await temporaryFolder();
    const write = async (path: string): Promise<void> => {
      await mkdir(join(journal, path, '..'), { recursive: true });
      await writeFile(join(journal, path), 'x');
    };
    const theirs = ['shop-a/thesis.md', 'shop-a/pages/notes.txt', 'mine/quota-1.json', 'mine/1.page'];
    const own = ['shop-a/quota-1.json', 'shop-a/pages/0a.b/00000.page'];
    for (const path of [...theirs, ...own]) await write(path);
    await symlink(join(journal, 'mine'), join(journal, 'shop-a/pages/linked'));
    await forgot({ lake, journal });
    const left = [...(await filesBelow(journal)).keys()].filter((path) => !path.includes('linked'));
    expect(left.toSorted()).toEqual(theirs.toSorted());
  });

  test.each(['_journal', '_journal/shop-a', '_tmp', 'events/account=shop-a/month=2025-06'])(
    'deletes nothing outside of the lake where %s is a link',
    async (path) => {
      const { lake } = await shops.copy();
      const outside = await temporaryFolder();
      const canaries = ['shop-a/pages/x', 'pages/x', 'events-0123456789abcdef.parquet', 'thesis.md'];
      for (const canary of canaries) {
        await mkdir(join(outside, canary, '..'), { recursive: true });
        await writeFile(join(outside, canary), 'canary');
      }
      await mkdir(join(lake, path, '..'), { recursive: true });
      await rm(join(lake, path), { recursive: true, force: true });
      await symlink(outside, join(lake, path));
      await expect(forgot({ lake })).rejects.toThrow(/got the symbolic link/);
      expect([...(await filesBelow(outside)).keys()].toSorted()).toEqual(canaries.toSorted());
    },
  );

  test.each(['..', '../outside', '.', 'a/b'])('refuses the account %j before anything is touched', async (account) => {
    const { lake } = await shops.copy();
    await expect(forgot({ lake, account })).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('leaves no folder of its own, and what others have put into other folders', async () => {
    const { lake } = await shops.copy();
    const foreign = 'events/account=shop-b/month=2025-06/mine.parquet';
    await writeFile(join(lake, foreign), 'none of ours');
    await mkdir(join(lake, 'events/account=shop-b/month=1999-01'));
    await mkdir(join(lake, 'notes/of=mine/kept'), { recursive: true });
    await forgot({ lake });
    const folders = (await readdir(lake, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(lake, join(entry.parentPath, entry.name)));
    expect(folders.filter((folder) => /shop-a|1999/.test(folder))).toEqual([]);
    expect(folders).toContain('events/account=shop-b/month=2025-06');
    expect(folders).toContain('notes/of=mine/kept');
    expect((await readFile(join(lake, foreign))).toString()).toBe('none of ours');
  });

  test('is known by what a dead run left of it, too', async () => {
    const { lake } = await shops.copy();
    await mkdir(join(lake, 'events/account=shop-c/month=2025-06'), { recursive: true });
    await writeFile(join(lake, 'events/account=shop-c/month=2025-06/x.parquet'), 'x');
    expect(await forgot({ lake, account: 'shop-c' })).toContain('has no rows of shop-c');
    expect([...(await filesBelow(lake)).keys()].join()).not.toContain('shop-c');
  });
});

describe('rows before a date', () => {
  const before = '2025-05-28T12:00:00Z';
  /** By table, what decides whether a row is old, where it isn't `effective_at`. */
  const instants: Readonly<Record<string, string>> = {
    groups: 'ended_at',
    settlement_summaries: 'period_end',
    payouts: 'created_at',
    settlement_reports: 'ended_at',
    settlement_lines: 'ended_at',
  };

  test('go, and the others stay as they were', async () => {
    const { lake } = await shops.copy();
    const opened = await database(lake, clock);
    const kept = async (from: typeof opened) => {
      const rows: Record<string, unknown> = {};
      for (const table of allTables) {
        const old = `${instants[table] ?? 'effective_at'} < TIMESTAMPTZ '${before}'`;
        rows[table] = await from.rows(
          `SELECT * FROM ${table} WHERE NOT coalesce(account = 'shop-a' AND ${old}, false) ORDER BY ALL`,
        );
      }
      return rows;
    };
    const expected = await kept(opened);
    const hashes = await fileHashes(lake);
    await forgot({ lake, before });

    expect(await rowsOf(lake)).toEqual(expected);
    const after = await fileHashes(lake);
    expect(ofShop(after, 'shop-b')).toEqual(ofShop(hashes, 'shop-b'));
    // What lies wholly behind the date is not made anew.
    const june = [...hashes].filter(([path]) =>
      /(events|entries)\/account=shop-a\/month=2025-06\/202506(08|15)/.test(path),
    );
    expect(june.length).toBeGreaterThan(0);
    for (const [path, hash] of june) expect(after.get(path)).toBe(hash);
    await expectLogsToNameTheFiles(lake);
  });

  test('that can not be read are named by the file of the lake and its slice', async () => {
    const { lake } = await shops.copy();
    const [path = ''] = [...(await fileHashes(lake)).keys()].filter((one) =>
      /^group_events\/account=shop-a\/.*\.parquet$/.test(one),
    );
    await writeFile(join(lake, path), 'no Parquet at all');
    const error = await failureOf(forgot({ lake, before }));
    expect(error.code).toBe('SQL');
    expect(error.message).toMatch(/ \(group\/GROUP-A\d+( and \d+ more)?\), it can't be read \(/);
    expect(error.message).toContain(`expected rows in ${join(lake, path)} (`);
  });

  test('are gone from every byte, and no order and no settlement of theirs is named', async () => {
    const { lake } = await shops.copy();
    await forgot({ lake, before });
    const text = await everything(lake);
    for (const number of [1, 2]) expect(text).not.toContain(orderId('shop-a', number));
    for (const trace of ['SKU-A0', 'SKU-A1', 'SKU-A2', 'GROUP-A0', 'GROUP-A1', '2025-05-28T06:00:00']) {
      // The other shop sold at the same instants.
      if (trace.startsWith('2025')) continue;
      expect(text).not.toContain(trace);
    }
    // Orders with a row left, and the open group.
    for (const trace of [orderId('shop-a', 0), orderId('shop-a', 3), 'GROUP-A2']) expect(text).toContain(trace);
  });

  test('are gone from the local disk, too, where a run that was killed left copies', async () => {
    const { lake } = await shops.copy();
    const folder = await makeLakeFolder(diskStore(lake));
    await mkdir(join(folder, 'files'));
    await writeFile(join(folder, 'files', '0.parquet'), 'rows of shop-a');
    await forgot({ lake, before });
    expect(existsSync(folder)).toBe(false);
  });

  test('are shown as forgotten, not as days on which nothing happened', async () => {
    const { lake } = await shops.copy();
    await forgot({ lake, before });
    const dayStates = async (account: string): Promise<string[]> => {
      const { accounts } = JSON.parse(await shown(lake, account, 'json')) as LakeStatus;
      const [shop] = accounts;
      const { days = [] } = shop?.pipelines.find(({ pipeline }) => pipeline === 'financial-events') ?? {};
      const states = new Map(days.map(({ day, state }) => [day, state]));
      const asked = ['2025-04-03', '2025-05-09', '2025-05-27', '2025-05-28', '2025-05-29', '2025-06-02'];
      return [String(shop?.forgotten_before), ...asked.map((day) => states.get(day) ?? '')];
    };
    // The window that holds 28 May still has rows.
    expect(await dayStates('shop-a')).toEqual([
      '2025-05-28T12:00:00.000Z',
      'forgotten',
      'forgotten',
      'forgotten',
      'full',
      'empty',
      'full',
    ]);
    expect(await dayStates('shop-b')).toEqual(['null', 'full', 'full', 'empty', 'full', 'empty', 'full']);
    const text = await shown(lake, 'shop-a', 'table');
    expect(text).toMatch(/^2025-04 f+ /m);
    expect(text).toContain('f loaded, its rows forgotten');
    const [, loaded, forgotten] =
      /financial-events: \d+ windows, (\d+) of 90 days loaded, (\d+) forgotten\n/.exec(text) ?? [];
    expect(Number(loaded) + Number(forgotten)).toBe(90);
    expect(await shown(lake, 'shop-b', 'table')).not.toContain('forgotten');
  });

  test('leave a lake that verify finds whole, also where compact had merged the files of orders', async () => {
    const { lake } = await shops.copy();
    await compacted({ lake }, { clock });
    await forgot({ lake, before });
    expect((await verified({ root: lake, clock })).problems.filter(({ kind }) => kind === 'lake')).toEqual([]);
  });

  test('stay noted when an earlier date is given, until the account is forgotten', async () => {
    const { lake } = await shops.copy();
    const noted = async () => (await Lake.open(diskStore(lake), tables, clock)).snapshot.forgottenBefore('shop-a');
    await forgot({ lake, before });
    await forgot({ lake, before: '2025-04-10' });
    expect(await noted()).toBe(Date.parse(before));
    await forgot({ lake });
    expect(await noted()).toBeUndefined();
  });

  test('aren’t asked for again, but for the orders that went with their rows', async () => {
    const { lake, reload } = await shops.copy();
    await forgot({ lake, before });
    expect(await reload('shop-b')).toBe(0);
    // Of two orders all events went, and of four the only transaction.
    expect(await reload('shop-a')).toBe(6);
    expect(await reload('shop-a')).toBe(0);
  });

  test('leave files whose tags and statistics say what is in them', async () => {
    const { lake } = await shops.copy();
    await forgot({ lake, before });
    const opened = await openDatabase();
    onTestFinished(() => {
      opened.close();
    });
    const { tables: open, snapshot } = await Lake.open(diskStore(lake), tables, clock);
    let checked = 0;
    for (const table of open) {
      for (const add of snapshot.files(table.name)) {
        if (add.tags?.['account'] !== 'shop-a') continue;
        const file = literal(join(lake, add.lakePath));
        const [row = {}] = await opened.rows(`SELECT count(*) AS rows FROM ${file}`);
        const stats = JSON.parse(add.stats ?? '') as { numRecords: number; minValues: Record<string, string> };
        expect([add.tags['rows'], stats.numRecords]).toEqual([String(row['rows']), Number(row['rows'])]);
        const derived = open.flatMap((other) =>
          snapshot.derivedFrom(other.name, 'shop-a', add.lakePath).map((one) => one.lakePath),
        );
        const nets =
          derived.length === 0
            ? []
            : await opened.rows(
                `SELECT currency, sum(amount)::DECIMAL(38,6)::VARCHAR AS net FROM read_parquet([${derived.map((path) => literal(join(lake, path))).join()}]) WHERE role = 'net' GROUP BY ALL ORDER BY ALL`,
              );
        const sums = Object.fromEntries(nets.map(({ currency, net }) => [String(currency), net]));
        if (table.name.endsWith('events')) expect(JSON.parse(add.tags['net'] ?? '')).toEqual(sums);
        if (table.columns.some(({ name }) => name === 'effective_at')) {
          const [least = {}] = await opened.rows(
            `SELECT strftime(min(effective_at), '%Y-%m-%dT%H:%M:%S.%gZ') AS at FROM ${file}`,
          );
          expect(stats.minValues['effective_at']).toBe(least['at']);
        }
        expect(add.loadKeys).not.toContain(`order/${orderId('shop-a', 1)}`);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(10);
  });

  test('keep the columns, the metadata and the types of the files that are made anew', async () => {
    const { lake } = await shops.copy();
    const describeAll = async () => {
      const opened = await database(lake, clock);
      const rows: unknown[] = [];
      for (const table of allTables) rows.push(await opened.rows(`DESCRIBE ${table}`));
      return rows;
    };
    const expected = await describeAll();
    await forgot({ lake, before });
    expect(await describeAll()).toEqual(expected);
    const opened = await openDatabase();
    const pairs = await opened.rows(
      `SELECT decode(value) AS value FROM parquet_kv_metadata(${literal(`${lake}/order_entries/account=shop-a/*/*.parquet`)}) WHERE decode(key) = 'ledgerlake'`,
    );
    opened.close();
    expect(pairs.length).toBeGreaterThan(0);
    for (const { value } of pairs) {
      expect(JSON.parse(String(value))).toMatchObject({
        account: 'shop-a',
        pipeline: 'order-events',
        window: expect.stringMatching(/^\d orders$/) as string,
      });
    }
  });

  test('that are none change no file of any table', async () => {
    const { lake, reload } = await shops.copy();
    const hashes = await fileHashes(lake);
    expect(await forgot({ lake, before: '2025-01-01' })).toContain('has no rows of shop-a before 2025-01-01');
    expect(await fileHashes(lake)).toEqual(hashes);
    expect(await reload('shop-a')).toBe(0);
  });
});

describe('nothing is touched', () => {
  test.each([
    ['for a date that is none', { before: 'May' }, 'expected --before to be an ISO 8601 date'],
    ['for an account that the lake doesn’t hold', { account: '../x' }, ' (shop-a, shop-b), got "../x"'],
  ])('%s', async (_, options, message) => {
    const { lake } = await shops.copy();
    const files = hashesOf(await filesBelow(lake));
    const error = await failureOf(forgot({ lake, ...options }));
    expect(error.exitCode).toBe(2);
    expect(error.message).toContain(message);
    expect(hashesOf(await filesBelow(lake))).toEqual(files);
  });

  test('when the answer is no, and when nobody can be asked; when it is yes, the account goes', async () => {
    const { lake } = await shops.copy();
    const questions: string[] = [];
    const answering = (answer: boolean) => ({
      confirm: (question: string) => {
        questions.push(question);
        return Promise.resolve(answer);
      },
    });
    const files = hashesOf(await filesBelow(lake));
    expect((await failureOf(forgot({ lake, yes: false }, answering(false)))).code).toBe('STOPPED');
    expect(hashesOf(await filesBelow(lake))).toEqual(files);
    expect((await failureOf(forgot({ lake, yes: false }))).exitCode).toBe(2);
    expect(hashesOf(await filesBelow(lake))).toEqual(files);
    await forgot({ lake, yes: false, before: '2025-05-01' }, answering(true));
    expect(questions).toEqual([
      `Remove everything of shop-a from ${lake} for good?`,
      `Remove everything before 2025-05-01T00:00:00.000Z of shop-a from ${lake} for good?`,
    ]);
    await forgot({ lake, yes: false }, answering(true));
    expect([...(await filesBelow(lake)).keys()].join()).not.toContain('shop-a');
  });

  test('while another run is at work; one that is dead is in nobody’s way', async () => {
    const { lake } = await shops.copy();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    // `0`: the system doesn't say when the process started.
    const { machine } = await thisWriter();
    const lease = {
      host: hostname(),
      machine,
      pid: child.pid,
      start: '0',
      startedAt: clock.now(),
      renewedAt: clock.now(),
    };
    await mkdir(join(lake, '_runs'), { recursive: true });
    await writeFile(join(lake, '_runs/other.json'), JSON.stringify(lease));
    const files = hashesOf(await filesBelow(lake));
    const error = await failureOf(forgot({ lake }));
    expect([error.code, error.exitCode]).toEqual(['LAKE_CONFLICT', 1]);
    expect(error.message).toContain(`got one (process ${child.pid} on ${hostname()}`);
    expect(hashesOf(await filesBelow(lake))).toEqual(files);

    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    await forgot({ lake });
    expect([...(await filesBelow(lake)).keys()].filter((path) => path.startsWith('_runs/'))).toEqual([]);
  });
});
