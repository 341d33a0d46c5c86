import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { setClock } from '../app/sync/synced.js';
import { clickhouseAnswers, clickhouseLines } from './clickhouse.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };
const tables = ['events', 'entries'] as const;

/** A lake with one account of several that all have the same; what a whole account has, by table. */
async function lakeOfOne() {
  const clock = setClock('2026-03-15T12:00:00Z');
  const endpoint = await serving({
    ledger: createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const load = (account: string) => ran({ lake, endpoint, account, ...dates }, { clock });
  const figures = {
    events: 'uniqExact(event_id), toString(sum(cityHash64(raw)))',
    entries: 'uniqExact(event_id, entry), toString(sum(amount))',
  };
  const queries = tables.map(
    (table) =>
      `SELECT account, count(), ${figures[table]} FROM deltaLakeLocal('${join(lake, table)}') GROUP BY account`,
  );
  await load('shop-0');
  const whole = (await clickhouseLines(queries)).map(([line = '']) => line.replace('shop-0\t', ''));
  expect(whole.map((line) => line.split('\t')[0])).toEqual(['450', '4734']);
  return { lake, queries, whole, load, compact: () => compacted({ lake }, { clock }) };
}

// Compaction deletes what it has replaced, as loads and `forget` do: who has read the log before may come too late.
const missed = /No such file or directory|FILE_DOESNT_EXIST|CANNOT_OPEN_FILE/;

test('ClickHouse sees whole commits of a lake that is written, or says that a file has gone meanwhile', async () => {
  const { lake, queries, whole, load, compact } = await lakeOfOne();
  const accounts = ['shop-1', 'shop-2', 'shop-3', 'shop-4'];
  const now = { loading: '', isWriting: true };
  const writing = (async () => {
    for (const account of accounts) {
      now.loading = account;
      await load(account);
      await compact();
    }
  })().finally(() => {
    now.isWriting = false;
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
      const held = new Map(
        answer.text
          .trimEnd()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]),
      );
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
