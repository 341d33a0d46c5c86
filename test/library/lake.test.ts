import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backfill, openLake, type Lake, type LakeOptions, type RunEvent } from '../../src/index.js';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { from, servedShop, to } from './served.js';

/** A lake of a shop's events, opened for `use` and closed behind it. */
async function withLake(use: (lake: Lake, path: string) => Promise<void>, options: LakeOptions = {}): Promise<void> {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const lake = await openLake(shop.lake, options);
  try {
    await use(lake, shop.lake);
  } finally {
    await lake.close();
  }
}

test('sql gives rows as objects, exact: amounts are texts, counts are bigints', () =>
  withLake(async (lake) => {
    const [row] = await lake.sql(
      `SELECT 9007199254740993 AS big, 0.1::DECIMAL(18,6) AS amount, 7::INTEGER AS small, NULL AS nothing, true AS yes,
       TIMESTAMPTZ '2026-01-01 00:00:00Z' AS instant, [1, 2] AS list, 1 AS x, 2 AS x`,
    );
    expect(row).toEqual({
      big: 9007199254740993n,
      amount: '0.100000',
      small: 7,
      nothing: null,
      yes: true,
      instant: '2026-01-01T00:00:00Z',
      list: '[1,2]',
      x: 1,
      x_1: 2,
    });
    const counted = await lake.sql("SELECT count(*) AS n, sum(amount) AS net FROM entries WHERE role = 'net'");
    expect(counted[0]?.['n']).toBeGreaterThan(0n);
    expect(counted[0]?.['net']).toMatch(/^-?\d+\.\d{6}$/);
    const kinds = await lake.sql('SELECT count(*) AS n FROM entries WHERE kind = $1 AND amount < $2::DECIMAL(18,6)', {
      parameters: ['fee', '0'],
    });
    expect(kinds[0]?.['n']).toBeGreaterThan(0n);
    const instant = new Date('2026-01-01T06:00:00.500Z');
    const bound = 'SELECT $1 AS text, $1::TIMESTAMPTZ AS at, count(*) AS n FROM entries WHERE effective_at < $1';
    expect(await lake.sql(bound, { parameters: [instant] })).toEqual(
      await lake.sql(bound, { parameters: [instant.toISOString()] }),
    );
    expect(await lake.sql('SELECT $at::TIMESTAMPTZ AS at', { parameters: { at: instant } })).toEqual([
      { at: '2026-01-01T06:00:00.500Z' },
    ]);
    // Further views and macros are those of the command.
    expect(await lake.sql('SELECT count(*) FROM pnl_by_month')).toHaveLength(1);
    expect(await lake.sql('SELECT count(*) FROM events_as_known(now()::VARCHAR)')).toHaveLength(1);
  }));

test('queries that are asked at once run in turn, and none disturbs another', () =>
  withLake(async (lake) => {
    const queries = Array.from({ length: 8 }, (_, number) =>
      number === 3
        ? lake.sql('SELEC').catch((error: unknown) => error)
        : lake.sql(`SELECT ${number} AS n, count(*) AS c FROM entries`),
    );
    const results = await Promise.all(queries);
    expect(results[3]).toMatchObject({ code: 'SQL' });
    for (const [number, rows] of results.entries()) if (number !== 3) expect(rows).toMatchObject([{ n: number }]);
  }));

test('a query is stopped by its signal, and the next one runs', () =>
  withLake(async (lake) => {
    const endless =
      'SELECT count(*) FROM range(1e12::BIGINT) a, range(1e12::BIGINT) b WHERE a.range % 7 = b.range % 11';
    const stopping = new AbortController();
    const query = lake.sql(endless, { signal: stopping.signal });
    setTimeout(() => {
      stopping.abort();
    }, 50);
    await expect(query).rejects.toMatchObject({ code: 'STOPPED' });
    expect(await lake.sql('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  }));

test('a query sees what was committed when it begins', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const lake = await openLake(shop.lake);
  const days = 'SELECT count(DISTINCT window_start::DATE) AS n, max(effective_at) AS latest FROM events';
  const [before] = await lake.sql(days);
  await backfill({ ...shop, pipelines: ['financial-events'], from: to });
  const [after] = await lake.sql(days);
  expect(String(after?.['latest']) > String(before?.['latest'])).toBe(true);
  await lake.close();
});

test('status and verify give what --format json prints', () =>
  withLake(async (lake, path) => {
    const range = { from, to };
    const printed = await builtCommand(
      ['status', '--lake', path, '--from', from.toISOString(), '--to', to.toISOString(), '--format', 'json'],
      { folder: path },
    );
    const status = await lake.status(range);
    const { at, ...expected } = JSON.parse(printed.out) as { at: string; accounts: { lag_seconds: number }[] };
    expect(typeof at).toBe('string');
    expect({ ...status, accounts: status.accounts.map((account) => ({ ...account, lag_seconds: 0 })) }).toEqual({
      ...expected,
      at: status.at,
      accounts: expected.accounts.map((account) => ({ ...account, lag_seconds: 0 })),
    });
    expect(status.accounts[0]).toMatchObject({ account: 'shop', command: null });

    const certificate = await lake.verify({ account: 'shop' });
    expect(certificate).toMatchObject({ lake: path, account: 'shop', verdict: 'whole' });
    expect(certificate.checks.length).toBeGreaterThan(15);
    await expect(lake.verify({ account: 'other' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(lake.status({ from: 'never' })).rejects.toMatchObject({ code: 'USAGE' });
  }));

test('verify tells of a lake that is not whole, and throws nothing', () =>
  withLake(async (lake, path) => {
    const folder = join(path, 'entries', 'account=shop');
    const [file = ''] = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet'));
    await rm(join(folder, file));
    const { verdict, problems } = await lake.verify();
    expect(verdict).toBe('broken');
    expect(problems.map(({ check }) => check)).toContain('file-bytes');
  }));

test('what is to be said of a query comes to the listener', async () => {
  const told: RunEvent[] = [];
  const early = "SELECT count(*) AS n FROM events_as_known('2001-01-01')";
  await withLake(
    async (lake) => {
      expect(await lake.sql(early)).toEqual([{ n: 0n }]);
    },
    { onEvent: (event) => told.push(event) },
  );
  expect(told).toMatchObject([{ event: 'message' }]);
});

test('a lake that is not there, a wrong option and a closed lake are refused', async () => {
  const empty = await temporaryFolder();
  await expect(openLake(join(empty, 'nowhere'))).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('check `path`') as unknown,
  });
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-event-groups'], from, to });
  await expect(openLake(shop.lake, { accounts: ['shop', 'other'] })).rejects.toMatchObject({ code: 'USAGE' });
  const none = await openLake(shop.lake, { accounts: [] });
  expect(await none.sql('SELECT count(*) AS n FROM groups')).toEqual([{ n: 0n }]);
  await none.close();
  await expect(openLake('')).rejects.toMatchObject({ code: 'USAGE' });
  await writeFile(join(empty, 'notes.txt'), 'no lake');
  await expect(openLake(empty)).rejects.toMatchObject({ code: 'USAGE' });
  await withLake(async (lake) => {
    for (const parameters of [[{}], [new Date(NaN)]])
      await expect(lake.sql('SELECT $1', { parameters } as never)).rejects.toMatchObject({ code: 'USAGE' });
    for (const [query, parameters, expected] of [
      ['SELECT $month AS m', { mont: 'x' }, 'expected a value for $month, got none; add it to `parameters`'],
      ['SELECT $month AS m', undefined, 'expected a value for $month, got none; add it to `parameters`'],
      ['SELECT $m', { m: 1, n: 2 }, 'expected a value for a parameter of the query, got n; the query has $m'],
    ] as const)
      await expect(lake.sql(query, { parameters })).rejects.toMatchObject({ code: 'USAGE', message: expected });
    await lake.close();
    await lake.close();
    await expect(lake.sql('SELECT 1')).rejects.toMatchObject({ code: 'USAGE' });
  });
});
