import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/core/clock.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { startApiServer } from '../../src/serve/http/server.js';
import { fetchedBodies } from '../app/import/imported.js';
import { childRun } from '../engine/run/child-run.js';
import { parcelServer, shipmentsOf, token } from '../sources/custom/parcel-server.js';
import { arrayBackend, type DatedItem } from '../serve/http/array-backend.js';
import { fee, settlement, shipment } from '../app/verify/small-backend.js';
import { CommandProcess } from './command-process.js';

const dayMs = 86_400_000;
/** Days with events; what follows up to now has none, so that a sync of a copy finds nothing new. */
const days = 50;
const groupDays = 14;
const account = 'shop';
const definitions = fileURLToPath(new URL('../sources/custom/pipelines', import.meta.url));

/** A lake as it was before anything was damaged, and the commands that change no row of it. */
export interface SeedLake {
  readonly name: string;
  readonly root: string;
  /** Commands that only read: words behind the lake. */
  readonly readers: readonly (readonly string[])[];
  /** Commands that may write, and have nothing to load. */
  readonly writers: readonly (readonly string[])[];
}

export interface SeedLakes {
  readonly lakes: readonly SeedLake[];
  /** What commands need. */
  readonly environment: Readonly<Record<string, string>>;
  /** For copies. */
  readonly folder: string;
  readonly close: () => Promise<void>;
}

function items(start: number): DatedItem[] {
  const all: DatedItem[] = [];
  const at = (day: number, hour = 2): string => new Date(start + day * dayMs + hour * 3_600_000).toISOString();
  const groupOf = (day: number): string => `GROUP-${Math.floor(day / groupDays) + 1}`;
  for (let day = 0; day < days; day++) {
    for (const half of [0, 1]) {
      all.push(shipment(at(day, 2 + 12 * half), String(2 * day + half), '25.00', '-4.00', groupOf(day)));
    }
    if (day % 7 === 3) all.push(fee(at(day, 12), '-10.00', groupOf(day)));
  }
  for (let number = 0; number * groupDays < days; number++) {
    const whole = (number + 1) * groupDays <= days;
    const facts = { id: `GROUP-${number + 1}`, start: at(number * groupDays, 0), beginning: '0.00' };
    // 28 shipments at 21.00 less two fees.
    all.push(settlement(whole ? { ...facts, end: at((number + 1) * groupDays, 0), total: '568.00' } : facts));
  }
  return all;
}

/** Makes the lakes by the commands themselves, over services of their own; to be called within a test. */
export async function seedLakes(): Promise<SeedLakes> {
  const folder = mkdtempSync(join(tmpdir(), 'ledgerlake-damage-'));
  const start = Math.floor(Date.now() / dayMs) * dayMs - 62 * dayMs;
  const date = (day: number): string => new Date(start + day * dayMs).toISOString().slice(0, 10);
  const backendItems = items(start);
  // Comes late: a refresh finds it.
  const late = backendItems.splice(28, 3);
  const server = await startApiServer({ backend: arrayBackend(backendItems), clock: systemClock });
  const parcels = await parcelServer(shipmentsOf(`${date(0)}T00:00:00Z`, 4, 9));
  const environment = { PARCELS_URL: parcels.url, PARCELS_TOKEN: token };
  const process = new CommandProcess({ folder, environment, hangMs: 120_000 });
  const upstream = ['--account', account, '--endpoint', server.url, '--rate', '1000', '--burst', '1000'];
  const run = async (root: string, [command = '', ...words]: readonly string[]): Promise<void> => {
    const { code, out, err } = await process.run([command, '--lake', root, ...words]);
    if (code !== 0) throw new Error(`expected ${command} ${words.join(' ')} to end with 0, got ${code}: ${out}${err}`);
  };
  const backfill = (from: number, to: number, ...more: string[]): string[] => {
    return ['backfill', ...more, ...upstream, '--from', date(from), '--to', date(to)];
  };
  const ownBackfill = (from: number, to: number): string[] => {
    return [
      'backfill',
      'shipments',
      '--pipelines',
      definitions,
      '--account',
      account,
      '--from',
      date(from),
      '--to',
      date(to),
    ];
  };

  const orders = join(folder, 'orders.txt');
  writeFileSync(orders, [5, 20, 40, 41, 90].map((id) => `111-0000000-${String(id).padStart(7, '0')}\n`).join(''));
  // A commit a day: as many as a checkpoint takes.
  const daily = join(folder, 'daily');
  for (let day = 0; day < 22; day++) await run(daily, backfill(day, day + 1, 'financial-events'));
  const merged = join(folder, 'merged');
  cpSync(daily, merged, { recursive: true });
  backendItems.push(...late);
  await run(daily, backfill(12, 15, 'financial-events', '--refresh'));

  await run(merged, backfill(0, days));
  await run(merged, backfill(0, days, 'order-events', '--orders', orders));
  await run(merged, backfill(12, 15, 'financial-events', '--refresh'));
  await run(merged, ['compact']);
  await run(merged, backfill(40, 41, 'financial-events', '--refresh'));
  await run(merged, ['sync', ...upstream]);
  // A run that died: its lease, the pages that it had received, and files that nothing names.
  await killed(merged, backfill(0, days, 'group-events', '--refresh'), environment);

  const mixed = join(folder, 'mixed');
  const pages = join(folder, 'pages.ndjson');
  const range = { PostedAfter: `${date(0)}T00:00:00Z`, PostedBefore: `${date(24)}T00:00:00Z` };
  const bodies = await fetchedBodies(server.url, '/finances/v0/financialEvents', range);
  writeFileSync(pages, bodies.map((body) => `${body}\n`).join(''));
  await run(mixed, ['import', pages, '--account', account]);
  await run(mixed, backfill(20, days));
  for (let day = 0; day < 24; day++) await run(mixed, ownBackfill(day, day + 1));
  await run(mixed, ['sync', ...upstream]);

  const both = join(folder, 'both');
  let sellersNow = start + 26 * dayMs;
  const sellersClock = { ...systemClock, now: () => sellersNow };
  const seller = createSeller({ seed: 16, events: 300, days: 60, profile: 'plausible' }, sellersClock);
  const successor = await startApiServer({ backend: seller, clock: systemClock });
  const newer = ['--account', account, '--endpoint', successor.url, '--rate', '1000', '--burst', '1000'];
  const read = (from: number, to: number, ...more: string[]): string[] => {
    return ['backfill', ...more, ...newer, '--from', date(from), '--to', date(to)];
  };
  for (let day = 0; day < 12; day++) await run(both, read(day, day + 1, 'transactions'));
  await run(both, read(0, 26, '--api', 'both'));
  await run(both, read(0, 26, 'settlement-summaries', 'payouts'));
  // What was deferred has been released since: a sync finds it, and the history keeps it.
  sellersNow = start + days * dayMs;
  const loadsOfBoth = [
    read(0, days, '--api', 'both'),
    read(0, days, 'settlement-summaries', 'payouts'),
    ['sync', ...newer, '--api', 'both'],
  ];
  const listings = read(0, days, 'settlement-summaries', 'payouts', '--refresh');
  for (const words of [...loadsOfBoth, listings, ['compact']]) await run(both, words);
  await run(both, read(30, 33, 'transactions', '--refresh'));
  const orderIds = await process.run([
    ...['sql', '--lake', both, '--format', 'csv', 'SELECT DISTINCT amazon_order_id FROM transactions'],
  ]);
  const newerOrders = join(folder, 'newer-orders.txt');
  writeFileSync(
    newerOrders,
    orderIds.out
      .split('\n')
      .filter((id) => /^[\d-]+$/.test(id))
      .slice(0, 5)
      .join('\n'),
  );
  const ordersOfBoth = read(0, days, 'order-transactions', '--orders', newerOrders);
  await run(both, ordersOfBoth);
  process.close();

  const sums = 'SELECT currency, role, sum(amount) AS total FROM entries GROUP BY ALL ORDER BY ALL';
  const readers: readonly (readonly string[])[] = [
    ['status'],
    ['status', '--format', 'json'],
    ['verify'],
    ['verify', '--format', 'json', '--strict'],
    ['sql', '--format', 'json', sums],
    ['sql', 'SELECT count(*) FROM events_as_known(now()::TIMESTAMPTZ)'],
    ['report', '-o', '-'],
    ['plan', ...upstream, '--from', date(0), '--to', date(days)],
  ];
  const readersOfBoth: readonly (readonly string[])[] = [
    ...readers.slice(0, 4),
    ['sql', '--format', 'json', sums.replace('entries', 'transaction_entries_earned')],
    ['sql', 'SELECT count(*) FROM transactions_as_known(now()::TIMESTAMPTZ)'],
    ['sql', 'SELECT count(*) FROM ledger'],
    ['sql', 'SELECT count(*) FROM api_differences'],
    ['report', '-o', '-'],
    ['plan', ...newer, '--from', date(0), '--to', date(days), '--api', 'both'],
  ];
  const upkeep: readonly (readonly string[])[] = [['compact'], ['compact'], ['rebuild']];
  const wholeRange = [backfill(0, days), ['sync', ...upstream]];
  mkdirSync(join(folder, 'copies'));
  return {
    environment,
    folder: join(folder, 'copies'),
    lakes: [
      {
        name: 'daily',
        root: daily,
        readers,
        writers: [
          ...upkeep,
          backfill(0, 22, 'financial-events'),
          backfill(10, 12, 'financial-events'),
          backfill(13, 14, 'financial-events', '--refresh'),
        ],
      },
      {
        name: 'merged',
        root: merged,
        readers,
        writers: [
          ...[
            ...upkeep,
            ...wholeRange,
            backfill(10, 12, 'financial-events'),
            backfill(30, 33, 'financial-events', '--refresh'),
          ],
          backfill(0, days, 'order-events', '--orders', orders),
          backfill(0, days, 'group-events', '--refresh'),
        ],
      },
      {
        name: 'mixed',
        root: mixed,
        readers,
        // What was imported stays so.
        writers: [
          ...upkeep,
          backfill(20, days),
          ['sync', ...upstream],
          ['import', pages, '--account', account],
          ownBackfill(0, 24),
        ],
      },
      {
        name: 'both',
        root: both,
        readers: readersOfBoth,
        writers: [...[...upkeep, ...loadsOfBoth, ordersOfBoth], read(20, 24, 'transactions', '--refresh'), listings],
      },
    ],
    close: async () => {
      await server.close();
      await successor.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Kills a run with `kill -9` in the middle of its writing. */
async function killed(
  root: string,
  [command = '', ...words]: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const options = { environment };
  const whole = childRun([command, '--lake', root, ...words], { ...options, killAt: 14 });
  const { signal, errors } = await whole.ended;
  if (signal !== 'SIGKILL') throw new Error(`expected the run to die: ${errors}`);
}
