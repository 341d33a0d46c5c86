import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forget } from '../../../src/app/forget/forget.js';
import { status } from '../../../src/app/status/status.js';
import { database, serving, temporaryFolder } from '../lake-run.js';
import { filesBelow } from '../two-shops.js';
import { compacted, dataFiles } from '../maintenance/kept-lake.js';
import { Kept } from '../../core/text/streams.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { shipment } from '../load/backend-items.js';
import { setClock, synced } from '../load/synced.js';
import { found, verified } from '../verify/verified.js';

const clock = setClock('2026-03-20T02:00:00Z');

/** A lake of two shops, each with an event that vanished on 3 March and one on 19 March. */
async function lakeWithHistory(): Promise<string> {
  const lake = await temporaryFolder();
  for (const [account, number] of [
    ['shop-a', '901'],
    ['shop-b', '902'],
  ] as const) {
    clock.set('2026-03-20T02:00:00Z');
    const at = (day: string, order: string) => shipment(`2026-03-${day}T12:00:00Z`, `${number}-${order}`);
    const items = [at('03', 'old-gone'), at('03', 'old'), at('19', 'new-gone'), at('19', 'new')];
    const endpoint = await serving({ backend: arrayBackend(items), clock });
    const given = { lake, endpoint, account, pipelines: ['financial-events'] };
    await synced(given, { clock });
    items.splice(2, 1);
    items.splice(0, 1);
    clock.set('2026-03-21T02:00:00Z');
    const { failure, summary } = await synced({ ...given, lookBack: 30 }, { clock });
    expect(failure).toBeUndefined();
    expect(summary.changes['financial-events']).toMatchObject({ vanished: 2 });
  }
  return lake;
}

async function forgot(lake: string, before: string | undefined): Promise<void> {
  const context = {
    clock,
    signal: new AbortController().signal,
    emit: () => undefined,
    confirm: undefined,
  };
  await forget({ lake, account: 'shop-a', before, yes: true }, context);
}

async function history(lake: string): Promise<string[]> {
  const query = 'SELECT amazon_order_id AS id FROM event_history ORDER BY id';
  const rows = await (await database(lake, clock, query)).rows(query);
  return rows.map(({ id }) => String(id));
}

async function names(lake: string, text: string): Promise<string[]> {
  const files = [...(await filesBelow(lake))];
  return files
    .filter(([path, bytes]) => `${path} ${Buffer.from(bytes).toString('latin1')}`.includes(text))
    .map(([path]) => path);
}

const ofB = ['902-new-gone', '902-old-gone'];

test.each(['small files', 'merged files'])(
  'a forgotten account’s history goes with it, and the other’s stays (%s)',
  async (kind) => {
    const lake = await lakeWithHistory();
    if (kind === 'merged files') await compacted({ lake }, { clock });
    expect(await history(lake)).toEqual(['901-new-gone', '901-old-gone', ...ofB]);
    await forgot(lake, undefined);
    expect(await history(lake)).toEqual(ofB);
    expect(await names(lake, 'shop-a')).toEqual([]);
    expect((await verified({ root: lake, clock })).code).toBe(0);
  },
);

test.each(['small files', 'merged files'])(
  'with --before what is older goes, and a second time nothing does (%s)',
  async (kind) => {
    const lake = await lakeWithHistory();
    if (kind === 'merged files') await compacted({ lake }, { clock });
    for (let times = 1; times <= 2; times++) {
      await forgot(lake, '2026-03-10');
      expect(await history(lake)).toEqual(['901-new-gone', ...ofB]);
      expect((await verified({ root: lake, clock })).code).toBe(0);
    }
    expect(await dataFiles(lake, 'event_history')).toHaveLength(kind === 'merged files' ? 2 : 3);
  },
);

test('status counts its rows', async () => {
  const lake = await lakeWithHistory();
  const output = new Kept();
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  await status({ lake, account: 'shop-a', from: undefined, to: undefined, format: 'json', color: false }, context);
  const { accounts } = JSON.parse(output.text) as { accounts: { tables: { table: string; rows: number }[] }[] };
  expect(accounts[0]?.tables.find(({ table }) => table === 'event_history')).toMatchObject({ rows: 2, files: 2 });
});

test('verify reads it as every other table', async () => {
  const lake = await lakeWithHistory();
  const whole = await verified({ root: lake, clock });
  expect([whole.code, whole.problems]).toEqual([0, []]);
  const [file = ''] = await dataFiles(lake, 'event_history');
  appendFileSync(join(lake, 'event_history', file), 'x');
  const damaged = await verified({ root: lake, clock });
  expect(found(damaged)).toEqual(['file-bytes failed']);
  expect(damaged.problems).toMatchObject([{ table: 'event_history', kind: 'lake' }]);
});
