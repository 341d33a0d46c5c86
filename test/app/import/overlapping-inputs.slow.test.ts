import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { clockAt, database, fileHashes, temporaryFolder } from '../lake-run.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');
const day = 86_400_000;

function at(hours: number, order: number): DatedItem {
  return shipment(
    new Date(Date.UTC(2025, 1, 26, hours)).toISOString(),
    `111-0000000-${String(order).padStart(7, '0')}`,
  );
}

/** How often each event stands in a lake, by raw. */
async function times(root: string): Promise<Map<string, number>> {
  const rows = await (await database(root, clock)).rows('SELECT raw, count(*) AS times FROM events GROUP BY raw');
  return new Map(rows.map(({ raw, times: count }) => [String(raw), Number(count)]));
}

test('files that overlap bring each event once, and equal events of one file stay as many as they are', async () => {
  const lake = { root: await temporaryFolder(), clock };
  const pages = Array.from({ length: 15 }, (_, page) =>
    eventsBody([at(page * 5, page), at(page * 5, page), at(page * 5 + 1, page)]),
  );
  const one = await fileOf(pages.slice(0, 10));
  const two = await fileOf(pages.slice(5));
  const first = await imported(lake, [one]);
  expect(first.summary.pipelines['financial-events']?.['events']).toBe(30);
  const second = await imported(lake, [two]);
  expect(second.summary.pipelines['financial-events']?.['events']).toBe(15);
  expect(second.summary.imported['financial-events']?.known).toBe(15);
  const before = await fileHashes(lake.root);
  await imported(lake, [two, one]);
  expect(await fileHashes(lake.root)).toEqual(before);
  expect([...(await times(lake.root)).values()].toSorted()).toEqual([
    ...Array<number>(15).fill(1),
    ...Array<number>(15).fill(2),
  ]);
  expect(found(await verified(lake))).toEqual([]);
});

test('whatever files hold, a lake has of each event as many as the file that has the most, in whole days', async () => {
  const event = fc.record({ hour: fc.integer({ min: 0, max: 120 }), order: fc.integer({ min: 1, max: 2 }) });
  const file = fc.array(fc.array(event, { maxLength: 4 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(1, 900, 32_000_000),
      async (files, chunkBytes) => {
        const lake = { root: await temporaryFolder(), clock };
        const most = new Map<string, number>();
        const paths: string[] = [];
        for (const pages of files) {
          const own = new Map<string, number>();
          const items = pages.map((page) => page.map(({ hour, order }) => at(hour, order)));
          for (const { json } of items.flat()) own.set(json, (own.get(json) ?? 0) + 1);
          for (const [json, count] of own) most.set(json, Math.max(count, most.get(json) ?? 0));
          paths.push(await fileOf(items.map((page) => eventsBody(page))));
        }
        const limits = { ...importLimits, chunkBytes };
        for (const path of [...paths, ...paths])
          expect((await imported(lake, [path], { limits })).failure).toBeUndefined();
        expect(await times(lake.root)).toEqual(most);
        const opened = await database(lake.root, clock);
        const odd = await opened.rows(
          'SELECT * FROM events WHERE epoch_ms(window_end) - epoch_ms(window_start) <> $day OR epoch_ms(window_start) % $day <> 0 '.replaceAll(
            '$day',
            String(day),
          ) +
            "OR effective_at < window_start OR effective_at >= window_end OR month <> strftime(window_start, '%Y-%m')",
        );
        expect(odd).toEqual([]);
        const ids = await opened.rows('SELECT event_id FROM events GROUP BY event_id HAVING count(*) > 1');
        expect(ids).toEqual([]);
        const positions = await opened.rows(
          'SELECT window_start FROM events GROUP BY window_start HAVING count(*) <> count(DISTINCT position)',
        );
        expect(positions).toEqual([]);
        if (most.size > 0) expect(found(await verified(lake))).toEqual([]);
      },
    ),
    { numRuns: 10 },
  );
});
