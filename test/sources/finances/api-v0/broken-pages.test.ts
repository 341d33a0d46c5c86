import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Clock } from '../../../../src/core/clock.js';
import { messageOf } from '../../../../src/core/errors.js';
import { createSeller } from '../../../../src/emulator/seller/seller.js';
import { Lake } from '../../../../src/lake/lake.js';
import { diskStore } from '../../../../src/lake/store/disk.js';
import { tables } from '../../../../src/sources/finances/lake-tables.js';
import { database, ran, serving, temporaryFolder } from '../../../app/lake-run.js';
import { mutating } from './odd-answers.js';

const range = { from: '2025-03-03', to: '2025-06-01', account: 'shop' };

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

/** Backfills over a service whose answers are no pages on some paths; what it fails with, and its lake. */
async function backfilled(isBroken: (path: string) => boolean, pipelines: string[]) {
  const clock = wakingClock();
  const seller = createSeller({ seed: 5, events: 600, days: 90, profile: 'plausible' }, clock);
  const upstream = await serving({ backend: seller, clock });
  const endpoint = await mutating(upstream, (text, path) => (isBroken(path) ? '{"payload":null}' : text));
  const lake = join(await temporaryFolder(), 'lake');
  const logged: string[] = [];
  const failure = await ran({ ...range, lake, endpoint, pipelines }, { clock, logged }).catch(
    (error: unknown) => error,
  );
  return { failure, lake, clock, log: logged.join('\n') };
}

test('settlements whose answers are no pages are left open, be they the first ones, and the others load', async () => {
  const seen: string[] = [];
  const { failure, lake, clock, log } = await backfilled(
    (path) => {
      const id = /Groups\/([^/]+)\//.exec(path)?.[1];
      if (id !== undefined && !seen.includes(id)) seen.push(id);
      return id !== undefined && seen.indexOf(id) < 6;
    },
    ['group-events'],
  );
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(messageOf(failure)).toMatch(
    /^left open group-events group \S+.*, and 5 more: ListFinancialEventsByGroupId: expected a body with a "payload" object/,
  );
  expect(log.match(/left open/g)?.length).toBeGreaterThanOrEqual(6);
  const opened = await Lake.open(diskStore(lake), tables, clock);
  const loaded = opened.snapshot.keysOf(range.account, 'group-events');
  expect(seen.filter((id) => !loaded.has(`group/${id}`))).toEqual(seen.slice(0, 6));
  const rows = await (await database(lake, clock)).rows('SELECT DISTINCT group_id AS id FROM group_events');
  expect(rows.length).toBeGreaterThan(2);
});

test('a run whose first four windows and the next one are no pages stops, and says which one it was, why, and what to do', async () => {
  const { failure } = await backfilled((path) => path.includes('/financialEvents?'), ['financial-events']);
  expect(failure).toMatchObject({ code: 'UPSTREAM_BODY', exitCode: 1 });
  expect(messageOf(failure)).toMatch(
    /^financial-events 2025-\S+.*: ListFinancialEvents: expected a body with a "payload" object, .* Tried 8 times\. 4 others failed before it and no page arrived, so the run stops; run it again later$/,
  );
});
