import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { messageOf } from '../../../src/core/errors.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { readLastRuns } from '../../../src/lake/upkeep/last-run.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { contentHashOf } from '../../../src/sources/finances/model/event-ids.js';
import { database, ran, temporaryFolder } from '../lake-run.js';
import { imported, fileOf, value } from '../import/imported.js';
import { listening } from '../../listening.js';

/** A clock on which whoever sleeps has slept at once. */
function wakingClock(): Clock {
  let now = Date.parse('2025-06-01T00:05:00Z');
  return {
    now: () => now,
    sleep: (ms) => {
      now += ms;
      return Promise.resolve();
    },
  };
}

/** A service with an answer of bytes for each path; requests are counted. */
async function answering(bodyOf: (url: URL) => Buffer): Promise<{ endpoint: string; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    requests.push(url.pathname + url.search);
    const headers = { 'content-type': 'application/json', 'x-amzn-RequestId': `request-${requests.length}` };
    response.writeHead(200, headers).end(bodyOf(url));
  });
  return { endpoint: await listening(server), requests };
}

const adjustment = (sku: string, description: string) =>
  `{"AdjustmentType":"WAREHOUSE_DAMAGE","PostedDate":"2025-03-04T05:06:07Z","AdjustmentAmount":{"CurrencyCode":"USD","CurrencyAmount":12.5},` +
  `"AdjustmentItemList":[{"Quantity":"1","TotalAmount":{"CurrencyCode":"USD","CurrencyAmount":12.5},"SellerSKU":"${sku}","ProductDescription":"${description}"}]}`;

const repaired = {
  escape: [adjustment('A', String.raw`Lamp 5\-inch`), adjustment('A', String.raw`Lamp 5\\-inch`)],
  control: [adjustment('B', 'Lamp\t5'), adjustment('B', String.raw`Lamp\t5`)],
  latin1: [adjustment('C', 'Schl\u00f6sser'), adjustment('C', 'Schl\ufffdsser')],
} as const;
const hole = adjustment('D', 'Lamp 5" wide');
const good = adjustment('E', 'Lamp');

const eventsPage = (events: readonly string[], token?: string) =>
  `{"payload":{"FinancialEvents":{"AdjustmentEventList":[${events.join(',')}],"ServiceFeeEventList":[]}${token === undefined ? '' : `,"NextToken":"${token}"`}}}`;

const broken = [good, repaired.escape[0], hole, repaired.control[0], repaired.latin1[0]];
const loaded = [good, repaired.escape[1], repaired.control[1], repaired.latin1[1]];

async function raws(lake: string, clock: Clock, table: string): Promise<unknown[]> {
  const rows = await (await database(lake, clock)).rows(`SELECT raw FROM ${table} ORDER BY position`);
  return rows.map(({ raw }) => raw);
}

test('a backfill repairs texts, leaves out what cannot be cut out, reads on with the token, and does not ask again', async () => {
  const clock = wakingClock();
  const pages = [Buffer.from(eventsPage(broken, 'next'), 'latin1'), Buffer.from(eventsPage([adjustment('F', 'last')]))];
  const { endpoint, requests } = await answering(
    (url) => pages[url.searchParams.has('NextToken') ? 1 : 0] ?? Buffer.alloc(0),
  );
  const lake = join(await temporaryFolder(), 'lake');
  const options = {
    lake,
    endpoint,
    account: 'shop',
    pipelines: ['financial-events'],
    from: '2025-03-04',
    to: '2025-03-05',
  };
  const logged: string[] = [];
  const failure: unknown = await ran(options, { clock, logged }).catch((error: unknown) => error);

  const start = eventsPage(broken).indexOf(hole);
  const place = `2025-03-04T00:00:00.000Z/2025-03-05T00:00:00.000Z, page 1, AdjustmentEventList, bytes ${start} to ${start + hole.length}, request id request-1`;
  expect(failure).toMatchObject({ code: 'HOLES', exitCode: 1 });
  expect(messageOf(failure)).toBe(`could not read financial-events ${place}; all else is loaded`);
  expect(logged).toContain(`financial-events: could not read ${place}`);
  expect(requests).toHaveLength(2);

  expect(await raws(lake, clock, 'events')).toEqual([...loaded, adjustment('F', 'last')]);
  const db = await database(lake, clock);
  expect(
    await value(
      db,
      "SELECT count(*) FROM events WHERE raw->>'$.AdjustmentItemList[0].ProductDescription' LIKE 'Lamp%'",
    ),
  ).toBe('3');
  expect(await value(db, `SELECT list(content_hash ORDER BY position)[2] FROM events`)).toBe(
    contentHashOf('AdjustmentEventList', Buffer.from(loaded[1] ?? '')),
  );
  expect(await value(db, "SELECT sum(amount) FROM entries WHERE role = 'net'")).toBe('62.500000');

  const { summary } = await ran(options, { clock });
  expect(summary).toMatchObject({ status: 'done' });
  expect(requests).toHaveLength(2);
});

test('the note of a run counts repaired events and holes', async () => {
  const clock = wakingClock();
  const { endpoint } = await answering(() => Buffer.from(eventsPage(broken), 'latin1'));
  const lake = join(await temporaryFolder(), 'lake');
  const options = {
    lake,
    endpoint,
    account: 'shop',
    pipelines: ['financial-events'],
    from: '2025-03-04',
    to: '2025-03-05',
  };
  await ran(options, { clock }).catch(() => undefined);
  const { warnings = {} } = (await readLastRuns(diskStore(lake))).get('shop')?.pipelines['financial-events'] ?? {};
  expect(warnings).toMatchObject({ repaired: { AdjustmentEventList: 3 } });
  expect(Object.values(warnings['holes'] ?? {})).toEqual([1]);
});

test('a refresh that cannot read an event keeps the rows of the lake, and replaces them where it lacks none', async () => {
  const clock = wakingClock();
  const whole = adjustment('D', 'Lamp 5 wide');
  let events: readonly string[] = [good, whole];
  const { endpoint } = await answering(() => Buffer.from(eventsPage(events)));
  const lake = join(await temporaryFolder(), 'lake');
  const range = { from: '2025-03-04', to: '2025-03-05' };
  const options = { lake, endpoint, account: 'shop', pipelines: ['financial-events'], ...range };
  const refreshed = async (more: Parameters<typeof ran>[0] = {}) => {
    const logged: string[] = [];
    const failure: unknown = await ran({ ...options, refresh: true, ...more }, { clock, logged }).then(
      () => undefined,
      (error: unknown) => error,
    );
    return { failure, logged };
  };
  await ran(options, { clock });

  // Another event came late, and the second one can't be read now.
  const late = adjustment('F', 'late');
  events = [good, hole, late];
  const refused = await refreshed();
  expect(refused.failure).toMatchObject({ code: 'UPSTREAM_EMPTY', exitCode: 1 });
  expect(messageOf(refused.failure)).toMatch(
    /where the lake has 2 rows, got an answer without 1 of them, and parts of it are no JSON; the lake keeps its rows/,
  );
  expect(refused.logged).toContainEqual(expect.stringMatching(/could not read 2025-\S+, page 1, AdjustmentEventList/));
  expect(await raws(lake, clock, 'events')).toEqual([good, whole]);
  expect(await value(await database(lake, clock), 'SELECT count(*) FROM event_history')).toBe('0');

  // The service has corrected it.
  events = [good, whole, late];
  expect((await refreshed()).failure).toBeUndefined();
  expect(await raws(lake, clock, 'events')).toEqual([good, whole, late]);

  // A hole beside all that the lake has.
  const later = adjustment('H', 'later');
  events = [good, whole, hole, late, later];
  expect((await refreshed()).failure).toMatchObject({ code: 'HOLES' });
  expect(await raws(lake, clock, 'events')).toEqual([good, whole, late, later]);

  events = [good, hole, late];
  expect((await refreshed({ acceptEmpty: true })).failure).toMatchObject({ code: 'HOLES' });
  expect(await raws(lake, clock, 'events')).toEqual([good, late]);
});

test('a hole that has moved is kept where it is now, and one that is where it was needs no commit', async () => {
  const clock = wakingClock();
  let events: readonly string[] = [hole, good];
  const { endpoint } = await answering(() => Buffer.from(eventsPage(events)));
  const lake = join(await temporaryFolder(), 'lake');
  const range = { from: '2025-03-04', to: '2025-03-05' };
  const options = { lake, endpoint, account: 'shop', pipelines: ['financial-events'], ...range };
  const read = async () => {
    await ran({ ...options, refresh: true }, { clock }).catch(() => undefined);
    const { snapshot } = await Lake.open(diskStore(lake), tables, clock);
    const holes = [...snapshot.keysOf('shop', 'financial-events').values()].flatMap((key) => key.holes ?? []);
    return { version: snapshot.version, holes };
  };
  const first = await read();
  expect(first.holes).toMatchObject([{ page: 0, byte: eventsPage(events).indexOf(hole) }]);
  expect((await read()).version).toBe(first.version);

  events = [good, hole];
  const { holes } = await read();
  expect(holes).toMatchObject([{ page: 0, byte: eventsPage(events).indexOf(hole) }]);
  expect(await raws(lake, clock, 'events')).toEqual([good]);
});

const transaction = (id: string, description: string) =>
  `{"transactionId":"${id}","transactionType":"Shipment","transactionStatus":"RELEASED","postedDate":"2025-03-04T05:06:07Z","description":"${description}","totalAmount":{"currencyCode":"USD","currencyAmount":12.5}}`;

test('transactions are repaired and left out alike', async () => {
  const clock = wakingClock();
  const texts = [transaction('T1', 'a'), transaction('T2', 'b "c" d'), transaction('T3', String.raw`5\-inch`)];
  const body = (token?: string) =>
    Buffer.from(
      `{"payload":{"transactions":[${(token === undefined ? [transaction('T4', 'e')] : texts).join(',')}]${token === undefined ? '' : `,"nextToken":"${token}"`}}}`,
    );
  const { endpoint, requests } = await answering((url) => body(url.searchParams.has('nextToken') ? undefined : 'next'));
  const lake = join(await temporaryFolder(), 'lake');
  const options = {
    lake,
    endpoint,
    account: 'shop',
    pipelines: ['transactions'],
    from: '2025-03-04',
    to: '2025-03-05',
  };
  const failure: unknown = await ran(options, { clock }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'HOLES', exitCode: 1 });
  expect(messageOf(failure)).toMatch(
    /transactions 2025-\S+, page 1, transactions, bytes \d+ to \d+, request id request-1; all else is loaded$/,
  );
  expect(await raws(lake, clock, 'transactions')).toEqual([
    transaction('T1', 'a'),
    transaction('T3', String.raw`5\\-inch`),
    transaction('T4', 'e'),
  ]);
  expect(requests).toHaveLength(2);
});

test('a page that cannot be read on is asked for in smaller pages, and the rest of its windows is loaded', async () => {
  const clock = wakingClock();
  // The service cuts pages of more than ten results off.
  const { endpoint, requests } = await answering((url) => {
    const isLarge = Number(url.searchParams.get('MaxResultsPerPage')) > 10;
    const page = eventsPage([good]);
    return Buffer.from(isLarge ? page.slice(0, -20) : page);
  });
  const lake = join(await temporaryFolder(), 'lake');
  const options = {
    lake,
    endpoint,
    account: 'shop',
    pipelines: ['financial-events'],
    from: '2025-03-04',
    to: '2025-03-05',
  };
  await ran(options, { clock });
  expect(await raws(lake, clock, 'events')).toEqual([good]);
  // Eight attempts in full, one each with 50, 25 and 10 results.
  expect(requests.map((path) => /MaxResultsPerPage=(\d+)/.exec(path)?.[1])).toEqual([
    ...Array<string>(8).fill('100'),
    '50',
    '25',
    '10',
  ]);
});

test('a window whose page cannot be read in any size is split, and its other days are loaded', async () => {
  const clock = wakingClock();
  const { endpoint } = await answering((url) => {
    const [after, before] = ['PostedAfter', 'PostedBefore'].map((name) => url.searchParams.get(name) ?? '');
    const isAround = (after ?? '') <= '2025-03-04T05' && (before ?? '') > '2025-03-04T05';
    const isNext = (after ?? '') <= '2025-03-05T05' && (before ?? '') > '2025-03-05T05';
    const next = good.replace('2025-03-04', '2025-03-05');
    return Buffer.from(isAround ? eventsPage([good]).slice(0, -2) : eventsPage(isNext ? [next] : []));
  });
  const lake = join(await temporaryFolder(), 'lake');
  const options = {
    lake,
    endpoint,
    account: 'shop',
    pipelines: ['financial-events'],
    from: '2025-03-03',
    to: '2025-03-07',
  };
  const failure: unknown = await ran(options, { clock }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(messageOf(failure)).toMatch(
    /^left open financial-events 2025-03-04T00:00:00.000Z\/2025-03-05T00:00:00.000Z: /,
  );
  expect(await raws(lake, clock, 'events')).toEqual([good.replace('2025-03-04', '2025-03-05')]);
});

test('an import repairs and leaves out alike, names file, line and bytes, and refuses a file whose line is no page', async () => {
  const clock = wakingClock();
  const root = join(await temporaryFolder(), 'lake');
  const line = eventsPage(broken, 'next');
  const groups =
    '{"payload":{"FinancialEventGroupList":[{"FinancialEventGroupId":"G1","FinancialEventGroupStart":"2025-03-04T00:00:00Z","TraceId":"a\\-b"},{"FinancialEventGroupId":"G"2"}]}}';
  const file = await fileOf(Buffer.from(`${eventsPage([adjustment('F', 'first')])}\n${line}\n${groups}\n`, 'latin1'));
  const { failure, logged, summary, printed } = await imported({ root, clock }, [file]);
  const start = line.indexOf(hole);
  const place = `${file}, line 2, AdjustmentEventList, bytes ${start} to ${start + hole.length}`;
  expect(failure).toMatchObject({ code: 'HOLES', exitCode: 1 });
  expect(messageOf(failure)).toBe(`could not read financial-events ${place}, and 1 more; all else is loaded`);
  expect(logged).toContain(`financial-events: could not read ${place}`);
  expect(logged).toMatch(
    /financial-event-groups: could not read .*, line 3, FinancialEventGroupList, bytes \d+ to \d+/,
  );
  expect(summary).toMatchObject({
    status: 'failed',
    pipelines: {
      'financial-events': { events: 5, warnings: { repaired: { AdjustmentEventList: 3 }, holes: { [place]: 1 } } },
      'financial-event-groups': { warnings: { repaired: { FinancialEventGroupList: 1 } } },
    },
  });
  expect(printed).toContain(
    'Warning: 4 records with a text that is no JSON (repaired in raw): AdjustmentEventList; FinancialEventGroupList',
  );
  const db = await database(root, clock);
  expect(await raws(root, clock, 'events')).toEqual([adjustment('F', 'first'), ...loaded]);
  expect(await value(db, "SELECT raw->>'$.TraceId' FROM groups")).toBe(String.raw`a\-b`);
  expect(await value(db, "SELECT sum(amount) FROM entries WHERE role = 'net'")).toBe('62.500000');

  const again = await imported({ root, clock }, [file]);
  expect(again.failure).toMatchObject({ code: 'HOLES' });
  expect(await value(await database(root, clock), 'SELECT count(*) FROM events')).toBe('5');

  const cut = await imported({ root, clock }, [
    await fileOf(Buffer.from(`${eventsPage([adjustment('G', 'g')])}\n${line.slice(0, 900)}\n`)),
  ]);
  expect(cut.failure).toMatchObject({ code: 'BROKEN_LINE' });
  expect(messageOf(cut.failure)).toMatch(/line 2: expected /);
});

test('a first load that cannot read an event keeps the imported rows that it may lack', async () => {
  const clock = wakingClock();
  const whole = adjustment('D', 'Lamp 5 wide');
  let events: readonly string[] = [good, hole];
  const { endpoint } = await answering(() => Buffer.from(eventsPage(events)));
  const root = join(await temporaryFolder(), 'lake');
  const saved = await fileOf([eventsPage([good, whole])]);
  await imported({ root, clock }, [saved], { account: 'shop' });
  const range = { from: '2025-03-04', to: '2025-03-05' };
  const load = (more: Parameters<typeof ran>[0] = {}): Promise<unknown> =>
    ran({ lake: root, endpoint, account: 'shop', pipelines: ['financial-events'], ...range, ...more }, { clock }).then(
      () => undefined,
      (error: unknown) => error,
    );
  const refused = await load();
  expect(refused).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(messageOf(refused)).toMatch(/imports stored up to 2 rows, got 1, beside parts of pages that can't be read;/);
  expect(await raws(root, clock, 'events')).toEqual([good, whole]);

  // As many beside the hole as were imported.
  const late = adjustment('F', 'late');
  events = [good, hole, whole, late];
  expect(await load()).toMatchObject({ code: 'HOLES' });
  expect(await raws(root, clock, 'events')).toEqual([good, whole, late]);
});
