import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forget } from '../../src/app/forget/forget.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { copied } from '../lake/s3-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { servedBucket } from '../s3-server/served-bucket.js';
import { hidingBackend, lot, setClock } from '../app/load/synced.js';
import { clickhouseLines } from './clickhouse.js';
import { expectSameLake } from './lake-contents.js';
import { booksOf } from '../emulator/seller/seller-books.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };

test('ClickHouse reads what DuckDB does, through all that becomes of a lake', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock);
  // One in nine events comes late, and one in ten goes again.
  let hidden = 9;
  const endpoint = await serving({ backend: hidingBackend(seller, (item) => lot(item, hidden) === 0), clock });
  const lake = await temporaryFolder();
  const log = join(lake, 'entries', '_delta_log');
  const same = () => expectSameLake(lake, clock, (table) => `deltaLakeLocal('${join(lake, table)}')`);
  const load = (account: string, refresh = false) => ran({ lake, endpoint, account, ...dates, refresh }, { clock });
  const hasCheckpoint = async () => (await readdir(log)).some((name) => name.endsWith('.checkpoint.parquet'));

  await load('shop');
  const first = await same();
  expect([...first.keys()]).toEqual(['events', 'entries', 'groups', 'group_events', 'group_entries']);
  expect(await hasCheckpoint()).toBe(false);

  hidden = 10;
  clock.set('2026-03-15T13:00:00Z');
  await load('shop', true);
  const second = await same();
  expect(second.get('event_history')).toBeGreaterThan(20);
  expect(second.get('events')).not.toBe(first.get('events'));

  clock.set('2026-03-15T14:00:00Z');
  let others = 0;
  // Slices that are ready together are one commit, so that the number of commits is that of the machine.
  while (!(await hasCheckpoint())) {
    others++;
    expect(others).toBeLessThan(12);
    await load(`other-shop-${others}`);
  }
  const third = await same();
  const ofOne = second.get('events') ?? 0;
  expect(third.get('events')).toBe((1 + others) * ofOne);

  clock.set('2026-03-15T15:00:00Z');
  const { summary } = await compacted({ lake }, { clock });
  expect(summary.pipelines['financial-events']?.['slices']).toBeGreaterThan(2);
  expect(await same()).toEqual(third);

  clock.set('2026-03-15T16:00:00Z');
  const context = { clock, signal: new AbortController().signal, emit: () => undefined };
  const forgotten = { lake, account: 'shop', before: undefined, yes: true };
  await forget(forgotten, { ...context, confirm: undefined });
  const last = await same();
  expect(last.get('events')).toBe(others * ofOne);
  expect(last.has('event_history')).toBe(false);
});

test('ClickHouse reads what the seller has booked: every event byte for byte, every amount, every sum', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 11, events: 900, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', ...dates }, { clock });
  const range = { start: Date.parse(dates.from), end: Date.parse(dates.to) };
  const delivered: string[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await seller.events(range, { cursor, limit: 100, asOf: clock.now() });
    delivered.push(...page.items.map(({ list, json }) => `${list} ${Buffer.from(json).toString('hex')}`));
    cursor = page.next;
  }
  const booked = [...booksOf(seller).entriesBooked(range)];
  const sums = [...booksOf(seller).netByMonth(range)].flatMap(([month, net]) =>
    [...net].map(([currency, micros]) => `${month} ${currency} ${micros}`),
  );
  expect([delivered.length > 400, booked.length > 4000, sums.length > 8]).toEqual([true, true, true]);

  const source = (table: string) => `deltaLakeLocal('${join(lake, table)}')`;
  const micros = (value: string) => `toString(toInt128(toDecimal128(${value}, 6) * 1000000))`;
  const read = async () =>
    clickhouseLines([
      `SELECT event_list || ' ' || lower(hex(raw)) FROM ${source('events')}`,
      `SELECT concat(event_list, ' ', path, ' ', role, ' ', currency, ' ', ${micros('amount')}) FROM ${source('entries')}`,
      `SELECT concat(month, ' ', currency, ' ', ${micros('sum(amount)')}) FROM ${source('entries')} ` +
        `WHERE role = 'net' GROUP BY month, currency`,
    ]);
  const own = [
    delivered,
    booked.map(({ list, path, role, currency, micros: amount }) => [list, path, role, currency, amount].join(' ')),
    sums,
  ].map((lines) => lines.toSorted());
  expect((await read()).map((lines) => lines.toSorted())).toEqual(own);

  await compacted({ lake }, { clock });
  expect((await read()).map((lines) => lines.toSorted())).toEqual(own);
});

test('ClickHouse reads a lake whose superseded checkpoints were removed', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 7, events: 300, profile: 'edge-cases' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const log = join(lake, 'events', '_delta_log');
  const checkpoints = async () => (await readdir(log)).filter((name) => name.endsWith('.checkpoint.parquet'));
  for (let at = 0; (await checkpoints().catch(() => [])).length < 2; at++)
    await ran({ lake, endpoint, account: `shop-${at}`, ...dates }, { clock });
  const same = () => expectSameLake(lake, clock, (table) => `deltaLakeLocal('${join(lake, table)}')`);
  const before = await same();
  const [old, ...others] = await checkpoints();

  // As far behind the clock as a day of nights leaves them.
  clock.set(Date.now() + 2 * 86_400_000);
  await compacted({ lake }, { clock });
  const left = await checkpoints();
  expect(left).not.toContain(old);
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThanOrEqual(others.length + 1);
  expect(await same()).toEqual(before);
});

test('ClickHouse reads a lake on S3', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 3, events: 300, profile: 'edge-cases' }, clock),
    clock,
  });
  const server = await servedBucket();
  const lake = 's3://bucket/lake';
  await ran({ lake, endpoint, account: 'shop', ...dates }, { clock });
  const { accessKeyId, secretAccessKey } = server.credentials;
  const source = (table: string) =>
    `deltaLake('${server.endpoint}/bucket/lake/${table}/', '${accessKeyId}', '${secretAccessKey}')`;
  const held = await expectSameLake(await copied(lake), clock, source);
  expect(held.get('entries')).toBeGreaterThan(1000);

  // Of two accounts and three months the files of one each.
  await ran({ lake, endpoint, account: 'other-shop', ...dates }, { clock });
  const partition = 'account=other-shop/month=2026-02/';
  const own = [...server.bucket('bucket').objects.keys()].filter((key) => key.startsWith(`lake/entries/${partition}`));
  server.calls.length = 0;
  await clickhouseLines([
    `SELECT sum(amount) FROM ${source('entries')} WHERE account = 'other-shop' AND month = '2026-02'`,
  ]);
  const opened = server.calls.map(({ key }) => key).filter((key) => key.includes('/month='));
  expect([...new Set(opened)].toSorted()).toEqual(own.toSorted());
});
