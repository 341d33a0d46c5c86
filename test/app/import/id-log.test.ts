import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdLog, type IdList } from '../../../src/app/import/id-log.js';
import { temporaryFolder } from '../lake-run.js';

const words = fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 40 });
const step = fc.oneof(
  words.map((added) => ({ kind: 'add', words: added }) as const),
  fc.nat().map((at) => ({ kind: 'read', at }) as const),
  fc.nat().map((at) => ({ kind: 'remove', at }) as const),
);

test('lists come back as they went in, whether memory holds them or the file', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom(0, 100, 300, 1e6), async (steps, mostBytes) => {
      const path = join(await temporaryFolder(), 'ids');
      const log = new IdLog(mostBytes, path);
      const lists: { readonly list: IdList; readonly words: readonly number[] }[] = [];
      const check = async (at: number) => {
        const one = lists[at % lists.length];
        if (one !== undefined) expect([...(await log.read(one.list))]).toEqual(one.words);
      };
      for (const one of steps) {
        if (one.kind === 'add') lists.push({ list: await log.add(Int32Array.from(one.words)), words: one.words });
        else if (one.kind === 'read') await check(one.at);
        else for (const { list } of lists.splice(one.at % Math.max(1, lists.length), 1)) log.remove(list);
        const inMemory = lists.reduce((sum, { list }) => sum + (list.memory?.byteLength ?? 0), 0);
        expect(inMemory).toBeLessThanOrEqual(mostBytes);
      }
      for (const at of lists.keys()) await check(at);
      await log.close();
      await expect(stat(path)).rejects.toThrow('ENOENT');
    }),
  );
});
