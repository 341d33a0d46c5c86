import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../app/lake-run.js';
import { eventsBody, fileOf, imported } from '../../app/import/imported.js';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { MainTables } from '../../../src/serve/lake/committed-files.js';
import { LakePages } from '../../../src/serve/lake/lake-pages.js';
import { steppingClock } from '../../app/maintenance/kept-lake.js';
import { paths } from '../http/client.js';
import { servingLake } from './served-lake.js';

const clock = steppingClock();

/** Events of one day, each of so many bytes of which hardly any repeat. */
function largeEvents(sizes: readonly number[]): string[] {
  return sizes.map((size, number) => {
    const text = createHash('shake256', { outputLength: Math.ceil(size / 2) })
      .update(String(number))
      .digest('hex');
    const minute = String(number % 60).padStart(2, '0');
    const hour = String(Math.floor(number / 60)).padStart(2, '0');
    return `{"id":${number},"PostedDate":"2026-02-01T${hour}:${minute}:00Z","text":"${text}"}`;
  });
}

async function servedEvents(sizes: readonly number[]) {
  const events = largeEvents(sizes);
  const lines = events.map((json) => eventsBody([{ list: 'ShipmentEventList', json }]));
  const lake = await temporaryFolder();
  const { failure } = await imported({ root: lake, clock }, [await fileOf(lines)], {
    limits: { ...importLimits, thread: { from: Infinity } },
  });
  expect(failure).toBeUndefined();
  return { events, url: await servingLake(lake, clock) };
}

/** Each page of a test of hundreds takes a second: the first ones tell enough. */
const mostPages = 5;

/** The first pages of a day's events, of a size: their bodies, and the events' ids. */
async function readAll(url: string, pageSize: number): Promise<{ readonly bodies: readonly string[]; ids: number[] }> {
  const bodies: string[] = [];
  const ids: number[] = [];
  for (
    let token: string | undefined, isFirst = true;
    isFirst || (token !== undefined && bodies.length < mostPages);
    isFirst = false
  ) {
    const query = new URLSearchParams({ PostedAfter: '2026-02-01', PostedBefore: '2026-02-02' });
    query.set('MaxResultsPerPage', String(pageSize));
    if (token !== undefined) query.set('NextToken', token);
    const answer = await fetch(`${url}${paths.events}?${query.toString()}`);
    const body = await answer.text();
    expect([answer.status, answer.status === 200 ? '' : body]).toEqual([200, '']);
    const { payload } = JSON.parse(body) as {
      payload: { NextToken?: string; FinancialEvents: { ShipmentEventList: { id: number }[] } };
    };
    ids.push(...payload.FinancialEvents.ShipmentEventList.map(({ id }) => id));
    bodies.push(body);
    token = payload.NextToken;
  }
  return { bodies, ids };
}

test.each([
  ['0.5 MB', Array.from({ length: 600 }, () => 500_000), 19],
  ['2 MB', Array.from({ length: 12 }, () => 2_000_000), 4],
  ['9 MB', Array.from({ length: 5 }, () => 9_000_000), 1],
  ['12 MB, one a page', [12_000_000, 1_000], 1],
])('events of %s are served, byte for byte', async (_, sizes, pageSize) => {
  const { events, url } = await servedEvents(sizes);
  const { bodies, ids } = await readAll(url, pageSize);
  const read = events.slice(0, mostPages * pageSize);
  expect(ids).toEqual(read.map((__, at) => at));
  for (const [at, event] of read.entries()) expect(bodies[Math.floor(at / pageSize)]?.includes(event)).toBe(true);
});

test('a page beyond 10 MB is InvalidInput', async () => {
  const { url } = await servedEvents([6_000_000, 6_000_000]);
  const target = `${url}${paths.events}?PostedAfter=2026-02-01&PostedBefore=2026-02-02`;
  const answer = await fetch(target);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { errors: [expect.objectContaining({ code: 'InvalidInput', details: 'Received: 2 results' })] },
  ]);
  expect((await fetch(`${target}&MaxResultsPerPage=1`)).status).toBe(200);
});

test('where memory runs out, a query of files is repeated, and a statement over a table says so', async () => {
  const folder = await temporaryFolder();
  const pages = await LakePages.open(await MainTables.open(diskStore(folder), clock), 'shop', { folder, bytes: 0 });
  onTestFinished(() => {
    pages.close();
  });
  await pages.readers.rows({ sql: 'CREATE TABLE ones AS SELECT 1 AS one', parameters: [] });
  const lengthOf = (one: string) => ({
    sql: `SELECT len(list(range::HUGEINT + one)) AS length FROM range(35_000_000), ${one}`,
    parameters: [],
  });
  await expect(pages.readers.rows(lengthOf('ones'))).rejects.toThrow(/out of memory/i);
  expect(await pages.readers.fileRows(lengthOf('(SELECT 1 AS one)'))).toEqual([{ length: 35_000_000n }]);
});
