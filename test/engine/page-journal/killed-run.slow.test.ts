import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import type { LoadOptions } from '../../../src/app/load/run-settings.js';
import { ran, temporaryFolder } from '../../app/lake-run.js';
import { busyServer, differences, ended, journalFiles, killedAt, quota, range, requestsNeeded } from './killed-run.js';

const pipelines = ['financial-events'];
const unharmed = { events: 0, entries: 0 };

/** Runs in this process, paced, but with tokens to spare. How many requests it took. */
async function loaded(options: Partial<LoadOptions>): Promise<number> {
  const { summary } = await ran(
    { account: 'shop', ...range, rate: 100, burst: 1000, pipelines, ...options },
    { clock: systemClock },
  );
  return Object.values(summary.pipelines).reduce((sum, { requests = 0 }) => sum + requests, 0);
}

/** Makes a page older by its own account. */
async function aged(page: string, minutes: number): Promise<void> {
  const bytes = await readFile(page);
  const end = bytes.indexOf(0x0a);
  const header = JSON.parse(bytes.subarray(0, end).toString()) as { receivedAt: number };
  const older = { ...header, receivedAt: header.receivedAt - minutes * 60_000 };
  await writeFile(page, Buffer.concat([Buffer.from(JSON.stringify(older)), bytes.subarray(end)]));
}

/** Of each slice the first page is changed, or the second one cut off. */
async function damaged(page: string): Promise<void> {
  const bytes = await readFile(page);
  if (basename(page) === '00001.page') await writeFile(page, bytes.subarray(0, 1000));
  else if (bytes.length % 2 === 0) {
    bytes[bytes.length - 2] = (bytes[bytes.length - 2] ?? 0) ^ 1;
    await writeFile(page, bytes);
  }
}

test('killed inside open slices, again and again, a run goes on inside them: what was on its way is asked for again, no more', async () => {
  const [server, top] = await Promise.all([busyServer({ quota }), temporaryFolder()]);
  const wanted = join(top, 'wanted');
  const lake = join(top, 'lake');
  expect(await ended(wanted, server)).toBe(await requestsNeeded(wanted));
  let requests = 0;
  let onTheirWay = 0;
  let kept = 0;
  for (const at of [10, 16]) {
    const killed = await killedAt(at, lake, server);
    expect(killed).toBeDefined();
    requests += killed?.requests ?? 0;
    onTheirWay += killed?.open ?? 0;
    kept = killed?.kept ?? 0;
  }
  const last = await ended(lake, server);
  expect(await differences(lake, wanted)).toEqual({
    groups: 0,
    events: 0,
    entries: 0,
    group_events: 0,
    group_entries: 0,
  });
  const needed = await requestsNeeded(lake);
  expect(requests + last - needed).toBeLessThanOrEqual(onTheirWay);
  // What the journal held at the end wasn't asked for again.
  expect(kept).toBeGreaterThan(0);
  expect(last).toBeLessThanOrEqual(needed - kept);
  expect(server.counts.requests(undefined, 429)).toBe(0);
  expect(await journalFiles(lake)).toEqual([]);
});

test('whatever becomes of the journal and of its tokens, no row is lost and none doubled', async () => {
  let areOld = false;
  // Of the tokens that stand in the journal.
  const faults = { 'token-expired': { when: () => areOld, times: 3 } };
  const [server, other, top] = await Promise.all([busyServer({ faults }), busyServer({}, 4), temporaryFolder()]);
  const [dead, wanted, othersWanted] = [join(top, 'dead'), join(top, 'wanted'), join(top, 'others-wanted')];
  await loaded({ lake: wanted, endpoint: server.url });
  await loaded({ lake: othersWanted, endpoint: other.url });
  const { kept = 0 } = (await killedAt(10, dead, server, ...pipelines)) ?? {};
  expect(kept).toBeGreaterThan(2);

  /** Goes on from the dead run's lake, after something has happened to its journal: requests, and what full pages take. */
  const goneOn = async (name: string, happens: (pages: readonly string[]) => Promise<unknown>) => {
    const lake = join(top, name);
    await cp(dead, lake, { recursive: true });
    await happens(await journalFiles(lake));
    const requests = await loaded({ lake, endpoint: server.url });
    expect(await differences(lake, wanted, Object.keys(unharmed)), name).toEqual(unharmed);
    expect(await journalFiles(lake), name).toEqual([]);
    return requests - (await requestsNeeded(lake));
  };
  const each = (change: (page: string) => Promise<unknown>) => (pages: readonly string[]) =>
    Promise.all(pages.map(change));

  expect(await goneOn('whole', () => Promise.resolve())).toBeLessThanOrEqual(-kept);
  // A run of another pipeline has nothing to do with it.
  const listing = { endpoint: server.url, pipelines: ['financial-event-groups'] };
  const behind = await goneOn('behind another', () => loaded({ lake: join(top, 'behind another'), ...listing }));
  expect(behind).toBeLessThanOrEqual(-kept);
  await goneOn('deleted', () => rm(join(top, 'deleted', '_journal'), { recursive: true }));
  await goneOn(
    'past its life',
    each((page) => aged(page, 4)),
  );
  await goneOn(
    'near its end',
    each((page) => aged(page, 2.7)),
  );
  await goneOn('damaged', each(damaged));
  areOld = true;
  await goneOn('no longer taken', () => Promise.resolve());
  expect(server.counts.faults('token-expired')).toBeGreaterThanOrEqual(3);

  // Another service's pages, and another account's, are nobody else's.
  const elsewhere = join(top, 'elsewhere');
  await cp(join(dead, '_journal'), join(elsewhere, '_journal'), { recursive: true });
  expect(await loaded({ lake: elsewhere, endpoint: other.url })).toBe(await requestsNeeded(elsewhere));
  expect(await differences(elsewhere, othersWanted, Object.keys(unharmed))).toEqual(unharmed);
  const shared = join(top, 'shared');
  await cp(join(dead, '_journal'), join(shared, '_journal'), { recursive: true });
  const requests = await loaded({ lake: shared, endpoint: server.url, account: 'other' });
  expect(requests).toBe(await requestsNeeded(shared));
  expect(await journalFiles(shared)).toHaveLength(kept);
});
