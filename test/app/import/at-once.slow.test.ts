import { expect, test } from 'vitest';
import { builtCommand } from '../built-command.js';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf } from './imported.js';

const clock = clockAt('2025-06-20T00:00:00Z');

/** Pages of eight weeks, five shipments a day and a fee each ten days; each import has other shipments of every day. */
function pagesOf(number: number): string[] {
  return Array.from({ length: 56 }, (_, day) => {
    const items = Array.from({ length: 5 }, (__, at) =>
      shipment(new Date(Date.UTC(2025, 2, 3 + day, at * 4)).toISOString(), `111-${number}-${day}-${at}`),
    );
    const fee = { at: 0, list: 'ServiceFeeEventList', json: `{"FeeReason":"fee ${day}"}` };
    const shared = shipment(new Date(Date.UTC(2025, 2, 3 + day, 21)).toISOString(), `111-shared-${day}`);
    return eventsBody([...items, shared, ...(day % 10 === 4 ? [fee] : [])]);
  });
}

test('four imports at once into a lake that does not exist yet all end with 0, and the lake has all rows', async () => {
  const folder = await temporaryFolder();
  const files = await Promise.all([0, 1, 2, 3].map((number) => fileOf(pagesOf(number))));
  const ended = await Promise.all(
    files.map((file) => builtCommand(['import', '--lake', 'lake', '--account', 'shop', '--quiet', file], { folder })),
  );
  expect(ended.map(({ code, err }) => [code, err])).toEqual(ended.map(() => [0, '']));
  const root = `${folder}/lake`;
  const opened = await database(root, clock);
  const [counted] = await opened.rows(
    'SELECT count(*) AS events, count(DISTINCT event_id) AS ids, count(DISTINCT content_hash) AS contents FROM events WHERE posted_at IS NOT NULL',
  );
  const dated = BigInt(56 * (4 * 5 + 1));
  expect(counted).toEqual({ events: dated, ids: dated, contents: dated });
  const fees = await opened.rows('SELECT count(*) AS times FROM events WHERE posted_at IS NULL GROUP BY content_hash');
  expect(fees.length).toBe(6);
  for (const { times } of fees) expect(Number(times)).toBe(1);
  expect(found(await verified({ root, clock }))).toEqual([]);
});
