import { access } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { cacheOf } from '../../../src/app/configuration/settings.js';
import { openLakeBackend } from '../../../src/serve/served-apis.js';
import { MainTables } from '../../../src/serve/lake/committed-files.js';
import { ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { compacted, steppingClock } from '../../app/maintenance/kept-lake.js';
import type { BackendItem, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import { arrayBackend, event, type DatedItem } from '../http/array-backend.js';
import { settlement } from '../../app/verify/small-backend.js';
import { allPages, lakeBackend, sorted } from './served-lake.js';

const clock = steppingClock();
const asOf = Date.parse('2026-03-15T12:00:00Z');
const range = { start: Date.parse('2026-02-01'), end: Date.parse('2026-02-07') };
const days = { from: '2026-02-01', to: '2026-02-07' };

const order = '902-1845936-5435065';

/** Six days with four instants each, several events at each of them: some the same, some without a date. */
function someItems(): DatedItem[] {
  return Array.from({ length: 6 * 4 }, (_, number) => {
    const at = range.start + number * 6 * 3_600_000;
    const json = (id: string, more = {}) => JSON.stringify({ id, PostedDate: new Date(at).toISOString(), ...more });
    return [
      event(at, 0, { json: json(`a${number}`, { AmazonOrderId: order }) }),
      event(at, 0, { json: json(`b${number}`), list: 'RefundEventList' }),
      event(at, 0, { json: json('twin') }),
      event(at, 0, { json: json('twin') }),
      event(at, 0, { json: `{"id":"fee${number}"}`, list: 'ServiceFeeEventList' }),
    ];
  }).flat();
}

async function loadedLake() {
  const items = someItems();
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const lake = await temporaryFolder();
  const load = (options: Parameters<typeof ran>[0]) =>
    ran({ lake, endpoint, account: 'shop', pipelines: ['financial-events'], ...options }, { clock });
  // One window a day, so that there is something to merge.
  for (let day = 1; day <= 6; day++) {
    const date = (of: number) => `2026-02-${String(of).padStart(2, '0')}`;
    await load({ from: date(day), to: date(day + 1) });
  }
  return { items, lake, load };
}

test('what stays comes once while windows are read again and merged', async () => {
  const { items, lake, load } = await loadedLake();
  const before = sorted(items);
  const backend = await lakeBackend(lake, clock);
  const changes = [
    // What comes newly stands before others of its instant, and moves them on.
    async () => {
      for (let number = 0; number < 24; number++) {
        const at = range.start + number * 6 * 3_600_000;
        const json = JSON.stringify({ id: `new${number}`, PostedDate: new Date(at).toISOString() });
        items.unshift(event(at, 0, { json }));
      }
      const { summary } = await load({ ...days, refresh: true });
      expect(summary.pipelines['financial-events']?.['files']).toBe(12);
    },
    async () => {
      const { summary } = await compacted({ lake }, { clock });
      expect(summary.status).toBe('done');
    },
    async () => {
      items.splice(0, 24);
      await load({ ...days, refresh: true });
    },
  ];
  const got: { list: string; json: string }[] = [];
  let cursor: string | undefined;
  for (let turn = 0; turn === 0 || cursor !== undefined; turn++) {
    const page = await backend.events(range, { cursor, limit: 3, asOf });
    got.push(...page.items);
    cursor = page.next;
    if (turn % 4 === 2) await changes.shift()?.();
  }
  expect(changes).toHaveLength(0);
  const kept = sorted(got).filter((item) => !item.includes('"new'));
  expect(kept).toEqual(before);
});

test('so does what is asked for by settlement and by order, and the list of settlements', async () => {
  const hour = 3_600_000;
  const iso = (at: number) => new Date(at).toISOString();
  const groupOf = (nth: number, id = `G${nth}`) => {
    const start = range.start + nth * 12 * hour;
    const facts = { start: iso(start), end: iso(start + 12 * hour), beginning: '0', total: '0' };
    return settlement({ id, ...facts });
  };
  const eventOf = (nth: number, id: string) => {
    const at = range.start + nth * 12 * hour + hour;
    const json = JSON.stringify({ id, PostedDate: iso(at), AmazonOrderId: order });
    return event(at, 0, { json, group: `G${nth}`, order });
  };
  const nths = Array.from({ length: 12 }, (_, nth) => nth);
  const items = nths.flatMap((nth) => [
    groupOf(nth),
    ...['a', 'twin', 'twin', 'b', 'c'].map((id) => eventOf(nth, id)),
    event(range.start + nth * 12 * hour + hour, 0, { json: `{"fee":${nth % 2}}`, group: `G${nth}` }),
  ]);
  const kept = [...items];
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const lake = await temporaryFolder();
  const orders = [order];
  const load = async (refresh: boolean, changed: { groups: boolean }) => {
    for (const own of [{ orders: undefined }, { pipelines: ['order-events'], orders }]) {
      const { summary } = await ran({ lake, endpoint, account: 'shop', ...days, refresh, ...own }, { clock });
      const { 'financial-event-groups': listing, ...others } = summary.pipelines;
      expect(listing?.['files'] ?? 0).toBe(changed.groups && own.orders === undefined ? 1 : 0);
      for (const { files } of Object.values(others)) expect(files).toBeGreaterThan(0);
    }
  };
  await load(false, { groups: true });
  const backend = await lakeBackend(lake, clock);
  const chains = [
    {
      ask: (query: BackendQuery) => backend.groups(range, query),
      stays: kept.filter(({ list }) => list === ''),
    },
    {
      ask: (query: BackendQuery) => backend.eventsOfGroup('G5', query),
      stays: kept.filter(({ list, group }) => list !== '' && group === 'G5'),
    },
    {
      ask: (query: BackendQuery) => backend.eventsOfOrder(order, query),
      stays: kept.filter((item) => item.order === order),
    },
  ].map((chain) => ({ ...chain, got: [] as BackendItem[], cursor: undefined as string | undefined, isOver: false }));
  const changes = [
    async () => {
      items.unshift(groupOf(5, 'new'), ...nths.map((nth) => eventOf(nth, 'new')));
      await load(true, { groups: true });
    },
    async () => {
      expect((await compacted({ lake }, { clock })).summary.status).toBe('done');
    },
    async () => {
      items.splice(1, 12);
      await load(true, { groups: false });
    },
  ];
  for (let turn = 0; chains.some(({ isOver }) => !isOver); turn++) {
    for (const chain of chains.filter(({ isOver }) => !isOver)) {
      const page = await chain.ask({ cursor: chain.cursor, limit: 2, asOf });
      chain.got.push(...(page?.items ?? []));
      chain.cursor = page?.next;
      chain.isOver = chain.cursor === undefined;
    }
    // The shortest chain has three pages.
    if (turn < changes.length) await changes[turn]?.();
  }
  for (const { got, stays } of chains) {
    expect(stays.length).toBeGreaterThan(5);
    expect(sorted(got.filter(({ json }) => !json.includes('"new"')))).toEqual(sorted(stays));
  }
});

test('files that are gone by the time they are opened are looked for in the newest version', async () => {
  const { items, lake } = await loadedLake();
  // So old may be what it knows that it reads no log until it has lost a file.
  const tables = await MainTables.open(openStore(lake), clock, Infinity);
  const backend = await openLakeBackend(tables, 'shop', cacheOf({}));
  onTestFinished(() => {
    backend.close();
  });
  const files = (await (await openLakeReader(lake, clock)).lakeFiles()).get('events') ?? [];
  const known = tables.versions();
  const ofOrder = () => allPages((query) => backend.eventsOfOrder(order, query), asOf, [5]);
  const story = sorted(items.filter(({ json }) => json.includes(order)));
  expect(sorted((await ofOrder()).flat())).toEqual(story);
  await compacted({ lake }, { clock });
  expect(files).toHaveLength(6);
  for (const file of files) await expect(access(file)).rejects.toThrow('ENOENT');
  await tables.refresh();
  expect(tables.versions()).toEqual(known);

  const pages = await allPages((query) => backend.events(range, query), asOf, [13]);
  expect(sorted(pages.flat())).toEqual(sorted(items));
  expect(tables.versions()).not.toEqual(known);
  expect(story).toHaveLength(24);
  expect(sorted((await ofOrder()).flat())).toEqual(story);
});

test('several clients read at once, each its own chain', async () => {
  const { items, lake } = await loadedLake();
  const backend = await lakeBackend(lake, clock);
  const chains = Array.from({ length: 12 }, (_, at) => {
    const own = { start: range.start + (at % 3) * 86_400_000, end: range.end };
    return allPages((query) => backend.events(own, query), asOf, [5 + at]);
  });
  for (const [at, pages] of (await Promise.all(chains)).entries()) {
    const from = range.start + (at % 3) * 86_400_000;
    expect(sorted(pages.flat())).toEqual(sorted(items.filter((item) => item.at >= from)));
  }
});
