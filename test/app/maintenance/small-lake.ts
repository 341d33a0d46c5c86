import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { systemClock, type Clock } from '../../../src/core/clock.js';
import { scanPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { windowSubject } from '../../../src/sources/finances/model/slice-rows.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import type { Revisions } from '../../../src/lake/slices/slice-writer.js';
import { noUpstream } from '../../../src/sources/finances/connect-finances.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import type { LoadValues } from '../../../src/engine/run/load-options.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import type { WindowSlice } from '../../../src/engine/slicing/window-slices.js';
import { noRevisions } from '../../lake/small-table.js';
import { listQueue } from '../../../src/engine/run/slice-queue.js';

/** A shipment of one order for one price; `posted` and `order` make it another one. */
export function shipment(posted: string, order: string, price = '12.34'): string {
  const charge = `{"ChargeType":"Principal","ChargeAmount":{"CurrencyCode":"USD","CurrencyAmount":${price}}}`;
  const fee = `{"FeeType":"Commission","FeeAmount":{"CurrencyCode":"USD","CurrencyAmount":-1.5}}`;
  const item = `{"SellerSKU":"sku-${order}","QuantityShipped":1,"ItemChargeList":[${charge}],"ItemFeeList":[${fee}]}`;
  return `{"AmazonOrderId":"${order}","PostedDate":"${posted}","ShipmentItemList":[${item}]}`;
}

/** Days 1 to 7 of January 2026 are window 1, the next seven window 2, and so on. */
export function window(number: number): WindowSlice {
  const start = Date.UTC(2026, 0, 1 + (number - 1) * 7);
  const end = Date.UTC(2026, 0, 1 + number * 7);
  const label = `${new Date(start).toISOString()}/${new Date(end).toISOString()}`;
  return { window: { start, end }, name: `window-${number}`, label, loadKeys: [`window/${label}`] };
}

/** An instant in a window. */
export function within(number: number, minute = 0): string {
  return new Date(window(number).window.start + minute * 60_000).toISOString();
}

interface SmallLoad extends LoadValues {
  /** Says when load keys were read. */
  readonly clock?: Clock;
  readonly revisions?: Revisions;
}

/** Loads a window with events, as if a service had answered with them. */
export async function load(
  lake: Lake,
  number: number,
  events: readonly string[],
  { clock = systemClock, revisions = noRevisions, ...values }: SmallLoad = {},
): Promise<void> {
  const slice = window(number);
  const body = Buffer.from(`{"payload":{"FinancialEvents":{"ShipmentEventList":[${events.join(',')}]}}}`);
  const slices = [slice];
  const pipeline = {
    ...financialEvents,
    slicing: {
      ...financialEvents.slicing,
      sliceQueue: () => listQueue(slices.splice(0), 'window', ({ window }) => window),
    },
    pages: async function* () {
      yield await Promise.resolve({ page: scanPage(body), subject: windowSubject(slice.window) });
    },
  };
  const { failure } = await runPipelines([pipeline], {
    job: { kind: 'backfill', account: 'shop', range: slice.window, lake, ...values },
    upstream: noUpstream,
    clock,
    signal: new AbortController().signal,
    emit: () => undefined,
    openSlices: 1,
    revisions,
  });
  if (failure !== undefined) throw failure as Error;
}

export async function open(place: Store | string, clock: Clock): Promise<Lake> {
  return Lake.open(typeof place === 'string' ? openStore(place) : place, tables, clock);
}

/** A lake of `windows` windows in one month with three orders each. */
export async function smallLake(clock: Clock, windows = 3): Promise<{ lake: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-small-'));
  const lake = join(folder, 'lake');
  const opened = await open(lake, clock);
  for (let number = 1; number <= windows; number++) await load(opened, number, shipments(number), { clock });
  return { lake, remove: () => rm(folder, { recursive: true }) };
}

/** The events of a window of a small lake. */
export function shipments(number: number): string[] {
  return [0, 1, 2].map((at) => shipment(within(number, at * 60), `order-${number}-${at}`, `${number}.0${at}`));
}
