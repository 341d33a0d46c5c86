import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { DataFile } from '../../../src/lake/delta/data-file.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { checkedBytes } from '../../../src/lake/files/local-file.js';
import { fileHashes } from '../lake-run.js';
import { memoryStore } from '../../lake/memory-store.js';
import { verified } from '../verify/verified.js';
import { compacted, contentsOf, copied, dataFiles, loaded, rebuilt, steppingClock } from './kept-lake.js';
import { makeLake, type MadeLake } from './made-lake.js';

const clock = steppingClock();
let made: MadeLake;
beforeAll(async () => {
  made = await makeLake(clock, { events: 80, orders: 40 });
});
afterAll(() => made.remove());

const cutOff = (file: string): Promise<void> => truncate(file, 100);
const gone = (file: string): Promise<void> => rm(file);
const flipped = async (file: string): Promise<void> => {
  const bytes = await readFile(file);
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  await writeFile(file, bytes);
};

/** A lake whose files were merged, and one of them damaged; the load keys that it holds. */
async function damagedLake(table: string, damage: (file: string) => Promise<void>) {
  const lake = await copied(made.lake);
  await compacted({ lake }, { clock });
  const contents = await contentsOf(lake, clock);
  const files = (await dataFiles(lake, table)).filter((file) => file.includes('compact-'));
  const path = files.find((file) => file.includes('month=2026-02')) ?? '';
  const add = (await Lake.open(openStore(lake), tables, clock)).snapshot.file(table, path);
  await damage(join(lake, table, path));
  return { lake, contents, loadKeys: add === undefined ? [] : add.loadKeys };
}

const february = { refresh: true, from: '2026-02-10', to: '2026-02-11' };

describe('a merged file that is damaged', () => {
  test.each([
    ['events', 'financial-events', 'cut off', cutOff],
    ['entries', 'financial-events', 'flipped', flipped],
    ['group_events', 'group-events', 'gone', gone],
    ['order_events', 'order-events', 'cut off', cutOff],
  ])(
    '%s of %s, %s: a slice of it that is read again stays open, and all of it stays',
    async (table, pipeline, _how, damage) => {
      const { lake, contents, loadKeys } = await damagedLake(table, damage);
      expect(loadKeys.length).toBeGreaterThan(1);
      const before = await fileHashes(lake);
      const [order = ''] = loadKeys
        .filter((loadKey) => loadKey.startsWith('order/'))
        .map((loadKey) => loadKey.slice('order/'.length));
      const what =
        pipeline === 'group-events'
          ? { refresh: true, from: '2026-01-24', to: '2026-02-12' }
          : pipeline === 'order-events'
            ? { refresh: true, orders: [order] }
            : february;
      const failed = loaded(lake, made.endpoint, clock, { pipelines: [pipeline], ...what });
      await expect(failed).rejects.toMatchObject({ code: 'INCOMPLETE' });
      await expect(failed).rejects.toThrow(
        new RegExp(
          `^left open ${pipeline} .*/${table}/.* as its commit has it, its? .*; it was not changed: restore the file`,
        ),
      );
      const after = await fileHashes(lake);
      for (const [path, hash] of before) if (path.startsWith(`${table}/`)) expect(after.get(path)).toBe(hash);
      if (table !== 'entries') return;
      // Entries are derived from events that the lake has.
      await rebuilt({ lake }, { clock });
      expect(await contents.differences()).toEqual({});
      expect(await verified({ root: lake, clock })).toMatchObject({ code: 0, problems: [] });
    },
  );

  test('of any table is to be restored from a copy, or mended as verify says', () => {
    const about = { path: 'x.parquet', partitionValues: {}, size: 1, modificationTime: 0, dataChange: true };
    const messageOf = (table: string) =>
      checkedBytes(memoryStore(), new DataFile(about, table)).catch((error: unknown) => error);
    return Promise.all(
      tables.map(async (table) => {
        const message = String(await messageOf(table.name));
        expect(message).toContain('it is missing; it was not changed: restore the file from a copy');
        expect(message).toContain('run the command that `ledgerlake verify` names');
      }),
    );
  });
});
