import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { arrayBackend, type DatedItem } from '../serve/http/array-backend.js';
import { arrayTransactions } from '../serve/http/array-transactions.js';
import type { TransactionBackend } from '../../src/serve/api-2024-06-19/transaction-backend.js';
import { startApiServer, type RunningApiServer } from '../../src/serve/http/server.js';
import { clockAt, ran, temporaryFolder } from './lake-run.js';

export const clock = clockAt('2025-07-01T00:00:00Z');
const range = { from: '2025-04-01', to: '2025-06-30' };

/** Two sellers whose ids tell them apart: every order of `shop-a` begins with `901-`, every group with `GROUP-A`. */
export interface TwoShops {
  readonly lake: string;
  /** Loads a shop's range again; its requests in all. */
  readonly reload: (shop: Shop) => Promise<number>;
  /** The address of a shop's service. */
  readonly endpoint: (shop: Shop) => string | undefined;
}

export type Shop = 'shop-a' | 'shop-b';

const prefixes = { 'shop-a': '901', 'shop-b': '902' } as const;

/** Order ids of a shop, one for each day of the range on which it sold something. */
export function orderId(shop: Shop, number: number): string {
  return `${prefixes[shop]}-${String(number).padStart(7, '0')}-0000000`;
}

/** Days on which orders were posted: the fourth on a last of April, the others around. */
const days = ['2025-04-03', '2025-04-20', '2025-05-09', '2025-05-28', '2025-06-02', '2025-06-21'];

function backendOf(shop: Shop): DatedItem[] {
  const letter = shop === 'shop-a' ? 'A' : 'B';
  const periods = [
    ['2025-04-01T00:00:00Z', '2025-04-15T00:00:00Z'],
    ['2025-04-15T00:00:00Z', '2025-05-15T00:00:00Z'],
    ['2025-05-15T00:00:00Z', undefined],
  ] as const;
  const groups = periods.map(([start, end], at): DatedItem => {
    const id = `GROUP-${letter}${at}`;
    const json = JSON.stringify({
      FinancialEventGroupId: id,
      ProcessingStatus: end === undefined ? 'Open' : 'Closed',
      FinancialEventGroupStart: start,
      ...(end === undefined ? {} : { FinancialEventGroupEnd: end }),
    });
    return { at: Date.parse(start), list: '', group: id, json };
  });
  const groupAt = (instant: number) =>
    `GROUP-${letter}${periods.findLastIndex(([start]) => Date.parse(start) <= instant)}`;
  const events = days.flatMap((day, number): DatedItem[] => {
    const order = orderId(shop, number);
    return ['06:00:00Z', '18:00:00Z'].map((time, at) => {
      const posted = `${day}T${time}`;
      const amount = { CurrencyCode: at === 0 ? 'USD' : 'EUR', CurrencyAmount: number + 0.25 };
      const json = JSON.stringify({
        AmazonOrderId: order,
        PostedDate: posted,
        ShipmentItemList: [
          { SellerSKU: `SKU-${letter}${number}`, ItemChargeList: [{ ChargeType: 'Principal', ChargeAmount: amount }] },
        ],
      });
      return { at: Date.parse(posted), list: 'ShipmentEventList', order, group: groupAt(Date.parse(posted)), json };
    });
  });
  // An event that spans the cut of one order: the first order is refunded in June.
  const late = '2025-06-10T12:00:00Z';
  events.push({
    at: Date.parse(late),
    list: 'RefundEventList',
    order: orderId(shop, 0),
    group: groupAt(Date.parse(late)),
    json: JSON.stringify({ AmazonOrderId: orderId(shop, 0), PostedDate: late }),
  });
  return [...groups, ...events];
}

/** The same orders as transactions, each of a settlement of its own that was paid at once. */
function transactionsOf(shop: Shop): TransactionBackend {
  const letter = shop === 'shop-a' ? 'A' : 'B';
  return arrayTransactions(
    days.map((day, number) => ({
      at: Date.parse(`${day}T06:00:00Z`),
      order: orderId(shop, number),
      settlement: `GROUP-${letter}${number}-settled`,
      sku: `SKU-${letter}${number}`,
      amount: number + 0.25,
    })),
  );
}

/** A lake on disk that holds both shops, every pipeline of them, to be copied by each test. */
export interface ShopsTemplate {
  /** A copy, which goes when the test ends. */
  readonly copy: () => Promise<TwoShops>;
  readonly close: () => Promise<void>;
}

export async function shopsTemplate(): Promise<ShopsTemplate> {
  const template = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  const servers = new Map<Shop, RunningApiServer>();
  for (const shop of ['shop-a', 'shop-b'] as const) {
    const backend = { ...arrayBackend(backendOf(shop)), byTransaction: transactionsOf(shop) };
    servers.set(shop, await startApiServer({ backend, clock }));
  }
  const load = async (lake: string, shop: Shop): Promise<number> => {
    const orders = days.map((_, number) => orderId(shop, number));
    const pipelines = [
      ...['financial-event-groups', 'financial-events', 'group-events', 'order-events'],
      ...['transactions', 'order-transactions', 'settlement-summaries', 'payouts'],
    ];
    const endpoint = servers.get(shop)?.url;
    const { summary } = await ran({ ...range, lake, account: shop, endpoint, orders, pipelines }, { clock });
    return Object.values(summary.pipelines).reduce((sum, { requests = 0 }) => sum + requests, 0);
  };
  await load(template, 'shop-a');
  await load(template, 'shop-b');
  return {
    copy: async () => {
      const lake = await temporaryFolder();
      await cp(template, lake, { recursive: true });
      return { lake, reload: (shop) => load(lake, shop), endpoint: (shop) => servers.get(shop)?.url };
    },
    close: async () => {
      for (const server of servers.values()) await server.close();
      await rm(template, { recursive: true });
    },
  };
}

/** Every file below a folder, by path. */
export async function filesBelow(folder: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path), await readFile(path));
  }
  return files;
}
