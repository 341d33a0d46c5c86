import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LoadOptions } from '../../src/app/load/run-settings.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { setClock } from '../app/load/synced.js';
import { clickhouseAnswers, clickhouseLines } from './clickhouse.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };
const tables = ['events', 'entries'] as const;

/** What is asked of each table, as Delta or as Iceberg, by account. */
function queriesOf(lake: string, format: 'delta' | 'iceberg'): string[] {
  const figures = {
    events: 'uniqExact(event_id), toString(sum(cityHash64(raw)))',
    entries: 'uniqExact(event_id, entry), toString(sum(amount))',
  };
  return tables.map((table) => {
    // The folders have no values in the Iceberg tables that ClickHouse reads.
    const [account, source] =
      format === 'delta'
        ? ['account', `deltaLakeLocal('${join(lake, table)}')`]
        : ["extract(_path, 'account=([^/]+)')", `icebergLocal('${join(lake, '_iceberg', table)}')`];
    return `SELECT ${account} AS shop, count(), ${figures[table]} FROM ${source} GROUP BY shop`;
  });
}

/** The figures of an answer by account. */
function byAccount({ text }: { readonly text: string }): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]));
}

/** A lake with one account of several that all have the same; what a whole account has, by table. */
async function lakeOfOne(kept: Pick<LoadOptions, 'retentionHours' | 'export'> = {}) {
  const clock = setClock('2026-03-15T12:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const load = (account: string, refresh = false) =>
    ran({ lake, endpoint, account, ...dates, ...kept, refresh }, { clock });
  const queries = queriesOf(lake, 'delta');
  await load('shop-0');
  const whole = (await clickhouseLines(queries)).map(([line = '']) => line.replace('shop-0\t', ''));
  expect(whole.map((line) => line.split('\t')[0])).toEqual(['450', '4734']);
  return { lake, queries, whole, load, compact: () => compacted({ lake, ...kept }, { clock }) };
}

/** Writes one account after the other, beside what the caller does. */
function writer(accounts: readonly string[], write: (account: string) => Promise<unknown>) {
  const now = { loading: '', isWriting: true };
  const writing = (async () => {
    for (const account of accounts) {
      now.loading = account;
      await write(account);
    }
  })().finally(() => {
    now.isWriting = false;
  });
  return { now, writing };
}

// Compaction deletes what it has replaced, as loads and `forget` do: who has read the log before may come too late.
const missed = /No such file or directory|FILE_DOESNT_EXIST|CANNOT_OPEN_FILE/;

test('ClickHouse sees whole commits of a lake that is written, or says that a file has gone meanwhile', async () => {
  const { lake, queries, whole, load, compact } = await lakeOfOne();
  const accounts = ['shop-1', 'shop-2', 'shop-3', 'shop-4'];
  const { now, writing } = writer(accounts, async (account) => {
    await load(account);
    await compact();
  });

  let read = 0;
  while (now.isWriting) {
    const before = ['shop-0', ...accounts.slice(0, Math.max(0, accounts.indexOf(now.loading)))];
    const asked = Array.from({ length: 10 }, () => queries).flat();
    for (const [at, answer] of (await clickhouseAnswers(asked)).entries()) {
      if ('error' in answer) {
        expect(answer.error).toMatch(missed);
        expect(answer.error).toContain(join(lake, tables[at % 2] ?? ''));
        continue;
      }
      read++;
      const held = byAccount(answer);
      for (const account of before) expect(held.get(account), account).toBe(whole[at % 2]);
      for (const figures of held.values()) {
        const [count, different] = figures.split('\t');
        expect(different).toBe(count);
      }
    }
  }
  await writing;
  expect(read).toBeGreaterThan(10);
  const [events] = await clickhouseLines(queries);
  expect(events).toHaveLength(accounts.length + 1);
});

test('with a retention ClickHouse reads the same sums as Delta and as Iceberg while a lake is written, and nothing fails', async () => {
  const { lake, whole, load, compact } = await lakeOfOne({ retentionHours: 6, export: ['iceberg'] });
  const accounts = ['shop-1', 'shop-2'];
  const { now, writing } = writer(accounts, async (account) => {
    await load(account);
    await compact();
    await load('shop-0', true);
  });
  const asked = [...queriesOf(lake, 'delta'), ...queriesOf(lake, 'iceberg')];
  const answers = async () =>
    (await clickhouseAnswers(Array.from({ length: 5 }, () => asked).flat())).map((answer) => {
      if ('error' in answer) throw new Error(answer.error);
      return byAccount(answer);
    });

  let read = 0;
  while (now.isWriting) {
    const before = ['shop-0', ...accounts.slice(0, Math.max(0, accounts.indexOf(now.loading)))];
    for (const [at, held] of (await answers()).entries()) {
      read++;
      const table = whole[at % 2];
      for (const account of before) expect(held.get(account), account).toBe(table);
      // Iceberg is exported when a run has ended: what it has of an account is whole.
      if (at % 4 >= 2) expect(new Set(held.values())).toEqual(new Set([table]));
    }
  }
  await writing;
  expect(read).toBeGreaterThan(100);
  const [events, entries, ...iceberg] = (await answers()).map((held) => [...held].toSorted());
  expect(events).toHaveLength(accounts.length + 1);
  expect(iceberg.slice(0, 2)).toEqual([events, entries]);
});

test('ClickHouse never leaves out a file that has gone: the query fails and names it', async () => {
  const { lake, queries, whole } = await lakeOfOne();
  const folder = join(lake, 'entries', 'account=shop-0', 'month=2026-02');
  const [gone = ''] = await readdir(folder);
  await rm(join(folder, gone));
  const [events, entries] = await clickhouseAnswers(queries);
  expect(events).toEqual({ text: `shop-0\t${whole[0] ?? ''}\n` });
  expect(entries).toEqual({ error: expect.stringMatching(missed) as string });
  expect(JSON.stringify(entries)).toContain(gone);
});
