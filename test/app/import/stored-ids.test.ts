import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DistinctIds, IdLog, idWords, readId, type IdList } from '../../../src/app/import/stored-ids.js';
import { temporaryFolder } from '../lake-run.js';

/** Ids of which many share their first words, as no hashes do. */
const id = fc
  .array(fc.constantFrom('00000000', '00000001', 'ffffffff', '0000000a', '9abcdef0'), { minLength: 4, maxLength: 4 })
  .map((words) => words.join(''));
const anyId = fc.oneof(id, fc.stringMatching(/^[0-9a-f]{32}$/));

function wordsOf(ids: readonly string[]): Int32Array {
  return new Int32Array(Uint8Array.from(Buffer.from(ids.join(''), 'hex')).buffer);
}

test('ids are counted among others as a Map counts them', () => {
  fc.assert(
    fc.property(fc.array(anyId, { maxLength: 60 }), fc.array(fc.array(anyId, { maxLength: 40 })), (own, lists) => {
      const distinct = new DistinctIds(wordsOf(own));
      const times = new Int32Array(distinct.length);
      for (const list of lists) distinct.count(wordsOf(list), times);
      const expected = new Map<string, number>();
      for (const other of lists.flat()) expected.set(other, (expected.get(other) ?? 0) + 1);
      expect(distinct.length).toBe(new Set(own).size);
      const found = own.map((_, row) => times[distinct.numbers[row] ?? -1]);
      expect(found).toEqual(own.map((one) => expected.get(one) ?? 0));
      const numbers = new Map(own.map((one, row) => [one, distinct.numbers[row]]));
      expect(own.map((one) => numbers.get(one))).toEqual([...distinct.numbers]);
    }),
  );
});

test('a stored id is read as it was made, whatever number it has', () => {
  fc.assert(
    fc.property(anyId, fc.option(fc.integer({ min: 2, max: 1e6 })), fc.nat(20), (shared, number, before) => {
      const text = number === null ? shared : `${shared}-${number}`;
      const page = Buffer.from(`${'x'.repeat(before)}${text}y`);
      const words = new Int32Array(3 * idWords);
      expect(readId({ page, start: before, end: before + text.length }, words, idWords)).toBe(true);
      const none = new Int32Array(idWords);
      expect(words).toEqual(Int32Array.of(...none, ...wordsOf([shared]), ...none));
    }),
  );
});

test.each([
  ['of a group', 'Ab1:00000000000000000000000000000000'],
  ['too short', '0000000000000000000000000000000'],
  ['too long', '000000000000000000000000000000000'],
  ['of other digits', '0000000000000000000000000000000G'],
  ['of capital digits', '0000000000000000000000000000000A'],
  ['empty', ''],
])('an id that is %s is none of an event by date', (_, text) => {
  const page = Buffer.from(text);
  expect(readId({ page, start: 0, end: page.length }, new Int32Array(idWords), 0)).toBe(false);
});

test('lists of ids come back as they went in', async () => {
  const words = fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(words, { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      async (added, reads) => {
        const path = join(await temporaryFolder(), 'ids');
        const log = new IdLog(path);
        const lists: IdList[] = [];
        for (const list of added) {
          lists.push(await log.add(Int32Array.from(list)));
          for (const at of [...reads, lists.length - 1]) {
            const list = lists[at % lists.length];
            if (list !== undefined) expect([...(await log.read(list))]).toEqual(added[at % lists.length]);
          }
        }
        await log.close();
        await expect(stat(path)).rejects.toThrow('ENOENT');
      },
    ),
  );
});
