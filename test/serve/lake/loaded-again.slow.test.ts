import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchedBodies, fileOf, imported } from '../../app/import/imported.js';
import { compacted, copied, dates, loaded, steppingClock } from '../../app/maintenance/kept-lake.js';
import { makeLake, type MadeLake } from '../../app/maintenance/made-lake.js';
import { database, temporaryFolder } from '../../app/lake-run.js';
import { servingLake } from './served-lake.js';

const clock = steppingClock();
let made: MadeLake;

beforeAll(async () => {
  made = await makeLake(clock, { events: 1000, orders: 30 });
});

afterAll(() => made.remove());

/** What of a table's rows came over the wire, as one hash of their multiset. */
const contents = (table: string, columns: string) =>
  `SELECT '${table}' AS "table", count(*) AS rows, sha256(string_agg(sha256(concat_ws(chr(0), ${columns}, raw)), '' ORDER BY ${columns}, raw)) AS hash FROM ${table}`;
const byDate = contents('events', 'event_list, content_hash');
const tables = [
  contents('groups', 'group_id'),
  byDate,
  contents('group_events', 'group_id, event_list, content_hash'),
  contents('order_events', 'requested_order_id, event_list, content_hash'),
].join(' UNION ALL ');

test.each(['landed', 'compacted'])(
  'a lake that is loaded from a replica of a %s lake holds the same bytes',
  async (state) => {
    const lake = await copied(made.lake);
    if (state === 'compacted') {
      const { summary } = await compacted({ lake }, { clock });
      expect(summary.pipelines['financial-events']?.['files']).toBeGreaterThan(0);
    }
    const endpoint = await servingLake(lake, clock);
    const again = await temporaryFolder();
    await loaded(again, endpoint, clock);
    await loaded(again, endpoint, clock, {
      pipelines: ['order-events'],
      orders: made.orders,
    });

    const [was, is] = [await database(lake, clock), await database(again, clock)];
    const held = await was.rows(tables);
    for (const { rows } of held) expect(Number(rows)).toBeGreaterThan(5);
    expect(await is.rows(tables)).toEqual(held);
    const money =
      "SELECT currency, role, kind, sum(amount) AS total FROM entries GROUP BY ALL HAVING currency != '' ORDER BY ALL";
    expect(await is.rows(money)).toEqual(await was.rows(money));
  },
);

test('so does one that is loaded from a replica of imported pages', async () => {
  const query = { PostedAfter: `${dates.from}T00:00:00Z`, PostedBefore: `${dates.to}T00:00:00Z` };
  const bodies = await fetchedBodies(made.endpoint, '/finances/v0/financialEvents', query);
  const root = await temporaryFolder();
  await imported({ root, clock }, [await fileOf(bodies)], { account: 'shop' });
  const again = await temporaryFolder();
  await loaded(again, await servingLake(root, clock), clock, { pipelines: ['financial-events'] });

  const [was, is] = [await database(root, clock), await database(again, clock)];
  const held = await was.rows(byDate);
  expect(Number(held[0]?.['rows'])).toBeGreaterThan(100);
  expect(await is.rows(byDate)).toEqual(held);
});
