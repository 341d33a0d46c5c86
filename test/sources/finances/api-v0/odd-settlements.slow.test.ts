import { join } from 'node:path';
import { expect, test } from 'vitest';
import { messageOf } from '../../../../src/core/errors.js';
import { createSeller } from '../../../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../../../app/lake-run.js';
import { compacted } from '../../../app/maintenance/kept-lake.js';
import { allPages, lakeBackend } from '../../../serve/lake/served-lake.js';
import { found, verified } from '../../../app/verify/verified.js';
import { mutating } from './odd-answers.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const range = { from: '2025-04-01', to: '2025-06-01', account: 'shop' };

interface Group {
  FinancialEventGroupId?: unknown;
  FinancialEventGroupStart?: string;
}

/** A service that lists its settlements as `rename` makes them. */
async function renaming(upstream: string, rename: (group: Group) => unknown): Promise<string> {
  return mutating(upstream, (text, path) => {
    if (!path.startsWith('/finances/v0/financialEventGroups?')) return text;
    const body = JSON.parse(text) as { payload: { FinancialEventGroupList?: unknown[] } };
    const list = body.payload.FinancialEventGroupList ?? [];
    body.payload.FinancialEventGroupList = list.map((group) => rename(group as Group));
    return JSON.stringify(body);
  });
}

const odd: readonly (readonly [string, (group: Group) => unknown, string])[] = [
  ['is missing', (group) => ({ ...group, FinancialEventGroupId: undefined }), 'it has none'],
  ['is empty', (group) => ({ ...group, FinancialEventGroupId: '' }), 'it has none'],
  ['is null', (group) => ({ ...group, FinancialEventGroupId: null }), 'it has none'],
  ['is a number', (group) => ({ ...group, FinancialEventGroupId: 12 }), 'it has none'],
  ['is an object', (group) => ({ ...group, FinancialEventGroupId: { id: 'x' } }), 'it has none'],
  ['is ..', (group) => ({ ...group, FinancialEventGroupId: '..' }), '.. is a step within the path'],
  ['is .', (group) => ({ ...group, FinancialEventGroupId: '.' }), '. is a step within the path'],
  [
    'takes 20 kB',
    (group) => ({ ...group, FinancialEventGroupId: 'x'.repeat(20_000) }),
    'it takes 20000 bytes of the path',
  ],
  [
    'has slashes',
    (group) => ({ ...group, FinancialEventGroupId: `../../etc/${String(group.FinancialEventGroupId)}` }),
    'status 404',
  ],
  [
    'has what is encoded',
    (group) => ({ ...group, FinancialEventGroupId: `%2e%2e/%00${String(group.FinancialEventGroupId)}` }),
    'status 404',
  ],
  [
    'has control characters',
    (group) => ({ ...group, FinancialEventGroupId: `${String(group.FinancialEventGroupId)}\u0000\n\u001b[2J` }),
    'status 404',
  ],
  [
    'has half a character',
    (group) => ({ ...group, FinancialEventGroupId: `${String(group.FinancialEventGroupId)}\ud800😀` }),
    'status 404',
  ],
  ['is of a group that is a text', () => 'group', 'it has none'],
  ['is of a group that is null', () => null, 'it has none'],
];

test.each(odd)('a settlement whose id %s is left open with a reason, and the others load', async (_what, make, why) => {
  const seller = await serving({
    backend: createSeller({ seed: 5, events: 200, days: 60, profile: 'edge-cases' }, clock),
    clock,
  });
  const all = new Set<string>();
  const sound = new Set<string>();
  const endpoint = await renaming(seller, (group) => {
    const id = String(group.FinancialEventGroupId);
    all.add(id);
    // The same ones each time: half of them, which is more than a run gives up at.
    if (id.charCodeAt(0) % 2 === 0) return make(group);
    sound.add(id);
    return group;
  });
  const lake = join(await temporaryFolder(), 'lake');
  const failure = await ran({ ...range, lake, endpoint }, { clock }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(messageOf(failure)).toContain('left open group-events group');
  expect(messageOf(failure)).toContain(why);
  expect(messageOf(failure).length).toBeLessThan(1000);

  const duckdb = await database(lake, clock);
  const loaded = await duckdb.rows('SELECT DISTINCT group_id AS id FROM group_events');
  expect(new Set(loaded.map(({ id }) => id))).toEqual(sound);
  expect(await duckdb.rows('SELECT count(*)::INT AS n FROM groups')).toEqual([{ n: all.size }]);
  const isText = typeof (make({ FinancialEventGroupId: 'x' }) as Group | null)?.FinancialEventGroupId === 'string';
  expect(await duckdb.rows('SELECT count(*)::INT AS n FROM groups WHERE group_id IS NULL')).toEqual([
    { n: isText ? 0 : all.size - sound.size },
  ]);
  expect((await duckdb.rows('SELECT count(*)::INT AS n FROM events'))[0]?.['n']).toBeGreaterThan(100);
  expect(found(await verified({ root: lake, clock })).filter((check) => check.endsWith('failed'))).toEqual([]);
});

test('settlements without an id stay what they are when they are listed again and merged, and are served', async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const upstream = await serving({
    backend: createSeller({ seed: 5, events: 200, days: 60, profile: 'edge-cases' }, clock),
    clock,
  });
  const endpoint = await renaming(upstream, (group) => ({ ...group, FinancialEventGroupId: undefined }));
  const load = async (refresh: boolean) =>
    ran({ ...range, lake, endpoint, refresh, pipelines: ['financial-event-groups'] }, { clock });
  await load(false);
  const rows = async () => (await database(lake, clock)).rows('SELECT group_id, raw FROM groups ORDER BY ALL');
  const before = await rows();
  expect(before.length).toBeGreaterThan(2);
  expect(new Set(before.map(({ group_id: id }) => id))).toEqual(new Set([null]));
  const { appeared, vanished, differ } = (await load(true)).summary.pipelines['financial-event-groups'] ?? {};
  expect([appeared ?? 0, vanished ?? 0, differ ?? 0]).toEqual([0, 0, 0]);
  await compacted({ lake }, { clock });
  expect(await rows()).toEqual(before);
  expect(found(await verified({ root: lake, clock })).filter((check) => check.endsWith('failed'))).toEqual([]);

  const backend = await lakeBackend(lake, clock);
  const whole = { start: Date.parse('2025-01-01'), end: Date.parse('2025-07-01') };
  const pages = await allPages((query) => backend.groups(whole, query), clock.now(), [2]);
  expect(
    pages
      .flat()
      .map(({ json }) => json)
      .toSorted(),
  ).toEqual(before.map(({ raw }) => String(raw)).toSorted());
});
