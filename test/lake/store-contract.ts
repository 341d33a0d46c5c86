import { randomBytes, randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../src/core/errors.js';
import type { Store, StoredFile } from '../../src/lake/store/store.js';

/** An empty place for a lake. */
export interface Place {
  /** One more store over it, as another process would have. */
  open(): Store;
  close(): Promise<void>;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && new TextDecoder().decode(bytes);

/** The paths of a list. */
export async function pathsOf(files: AsyncIterable<StoredFile>): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of files) paths.push(path);
  return paths;
}

/** Names that sort and quote badly, over and under the slash, the plane and the percent sign. */
const name = fc
  .array(
    fc.constantFrom('a', 'b', 'Z', '0', '-', '.', ' ', '=', '~', '_', '%', '+', '&', '#', '?', 'é', '\uE000', '😀'),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((signs) => signs.join(''))
  .filter((text) => text !== '.' && text !== '..');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
/** No file's path is a folder of another's: a disk can't hold both. */
const paths = fc
  .uniqueArray(path, { minLength: 1, maxLength: 8 })
  .map((all) => all.filter((one) => !all.some((other) => other.startsWith(`${one}/`))));

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** What every store promises. `runs`: how many examples each property tries. */
export function storeContract(kind: string, makePlace: () => Promise<Place>, runs: number): void {
  describe(`${kind} keeps the promises of a store`, () => {
    let place: Place;
    let store: Store;
    let other: Store;
    /** A folder of its own for each test and each example. */
    const fresh = (): string => `t-${randomUUID()}`;

    beforeAll(async () => {
      place = await makePlace();
      store = place.open();
      other = place.open();
    });
    afterAll(() => place.close());

    test('gives back what was written, to every reader', async () => {
      const folder = fresh();
      await store.write(`${folder}/full`, bytesOf('one'));
      await store.write(`${folder}/empty`, new Uint8Array(0));
      expect(textOf(await other.read(`${folder}/full`))).toBe('one');
      expect(await other.read(`${folder}/empty`)).toHaveLength(0);
      await other.write(`${folder}/full`, bytesOf('another'));
      expect(textOf(await store.read(`${folder}/full`))).toBe('another');
    });

    test('gives back a file of more than 32 MB', async () => {
      const large = randomBytes((33 << 20) + 17);
      const file = `${fresh()}/large`;
      await store.write(file, large);
      expect(Buffer.compare((await store.read(file)) ?? new Uint8Array(0), large)).toBe(0);
      const middle = await store.readRange(file, (16 << 20) - 3, 6);
      expect(middle && Buffer.from(middle)).toEqual(large.subarray((16 << 20) - 3, (16 << 20) + 3));
      await store.remove(file);
    });

    test('has nothing where nothing was written', async () => {
      const folder = fresh();
      await store.write(`${folder}/file`, bytesOf('x'));
      for (const absent of [`${folder}/none`, `${folder}/none/deeper`, `${folder}/file/below`, folder]) {
        expect(await store.read(absent)).toBeUndefined();
        expect(await store.readRange(absent, 0, 1)).toBeUndefined();
        expect(await store.readRange(absent, -1, 1)).toBeUndefined();
      }
      expect(await pathsOf(store.list(`${folder}/none`))).toEqual([]);
      expect(await pathsOf(store.list(`${folder}/file`))).toEqual([]);
    });

    test('lets exactly one of fifty creators win, and keeps what that one wrote', async () => {
      const file = `${fresh()}/_delta_log/00000000000000000000.json`;
      const texts = Array.from({ length: 50 }, (_, at) => `creator ${at}`);
      const won = await Promise.all(texts.map((text, at) => (at % 2 ? store : other).create(file, bytesOf(text))));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(textOf(await store.read(file))).toBe(texts[won.indexOf(true)]);
      expect(await other.create(file, bytesOf('late'))).toBe(false);
      expect(textOf(await store.read(file))).toBe(texts[won.indexOf(true)]);
    });

    test('creates again what was removed, and not what was written', async () => {
      const file = `${fresh()}/file`;
      await store.write(file, bytesOf('written'));
      expect(await store.create(file, bytesOf('created'))).toBe(false);
      await store.remove(file);
      expect(await store.create(file, new Uint8Array(0))).toBe(true);
      expect(await store.create(file, bytesOf('created'))).toBe(false);
      expect(await store.read(file)).toHaveLength(0);
    });

    test('lists by name in byte order, from behind any name on', async () => {
      await fc.assert(
        fc.asyncProperty(paths, fc.oneof(path, fc.constant('')), async (files, after) => {
          const folder = fresh();
          await Promise.all(files.map((file) => store.write(`${folder}/${file}`, bytesOf(file))));
          const sorted = files.toSorted(byBytes).map((file) => `${folder}/${file}`);
          expect(await pathsOf(other.list(folder))).toEqual(sorted);
          for (const behind of [`${folder}/${after}`, ...sorted.slice(0, 1)]) {
            const rest = sorted.filter((file) => byBytes(file, behind) > 0);
            expect(await pathsOf(other.list(folder, behind))).toEqual(rest);
          }
        }),
        { numRuns: runs },
      );
    });

    test('lists `a-b` before `a/b`, and a folder without its neighbours', async () => {
      const folder = fresh();
      for (const file of ['a/b', 'a-b', 'a.b', 'a0', 'a/c/d', 'ab/c'])
        await store.write(`${folder}/${file}`, bytesOf(file));
      const all = ['a-b', 'a.b', 'a/b', 'a/c/d', 'a0', 'ab/c'].map((file) => `${folder}/${file}`);
      expect(await pathsOf(store.list(folder))).toEqual(all);
      expect(await pathsOf(store.list(`${folder}/a`))).toEqual([`${folder}/a/b`, `${folder}/a/c/d`]);
      expect((await pathsOf(store.list(''))).filter((file) => file.startsWith(folder))).toEqual(all);
      expect(await pathsOf(store.list('', all[4]))).toContain(all[5]);
    });

    test('lists sizes and times', async () => {
      const folder = fresh();
      await store.write(`${folder}/five`, bytesOf('12345'));
      for await (const { size, modifiedAt } of store.list(folder)) {
        expect(size).toBe(5);
        expect(new Date(modifiedAt).getUTCFullYear()).toBeGreaterThanOrEqual(2024);
      }
      expect.assertions(2);
    });

    test('reads any range as a slice of the whole', async () => {
      const folder = fresh();
      const whole = Uint8Array.from({ length: 20 }, (_, at) => at);
      await store.write(`${folder}/20`, whole);
      await store.write(`${folder}/0`, new Uint8Array(0));
      const start = fc.integer({ min: -25, max: 25 });
      const length = fc.integer({ min: 0, max: 30 });
      await fc.assert(
        fc.asyncProperty(start, length, async (start, length) => {
          const from = start < 0 ? Math.max(0, 20 + start) : start;
          const range = await store.readRange(`${folder}/20`, start, length);
          expect(range && [...range]).toEqual([...whole.slice(from, from + length)]);
          expect(await store.readRange(`${folder}/0`, start, length)).toHaveLength(0);
        }),
        {
          numRuns: runs * 4,
          examples: [
            [-8, 8],
            [0, 20],
            [0, 0],
            [20, 1],
            [-20, 20],
            [-25, 3],
            [19, 30],
          ],
        },
      );
      await expect(store.readRange(`${folder}/20`, 0.5, 1)).rejects.toThrow(RangeError);
      await expect(store.readRange(`${folder}/20`, 0, -1)).rejects.toThrow(RangeError);
    });

    test('removes a file once, and what is not there without complaint', async () => {
      const folder = fresh();
      await store.write(`${folder}/deep/er/file`, bytesOf('x'));
      await store.write(`${folder}/deep/other`, bytesOf('y'));
      await store.remove(`${folder}/deep/er/file`);
      await store.remove(`${folder}/deep/er/file`);
      await store.remove(`${folder}/never/there`);
      expect(await other.read(`${folder}/deep/er/file`)).toBeUndefined();
      expect(await pathsOf(store.list(folder))).toEqual([`${folder}/deep/other`]);
    });

    test('keeps unusual names apart and as they are', async () => {
      const folder = fresh();
      const names = [
        'account=ä b%2F+',
        'account=ä b/+',
        ' lead',
        'trail ',
        'a+b',
        'a b',
        'a%20b',
        `'"<&>`,
        '*?#;:@$,()[]{}|^!~`',
      ];
      for (const unusual of names) await store.write(`${folder}/${unusual}`, bytesOf(unusual));
      for (const unusual of names) expect(textOf(await other.read(`${folder}/${unusual}`))).toBe(unusual);
      expect(await pathsOf(store.list(folder))).toEqual(names.map((file) => `${folder}/${file}`).sort(byBytes));
    });

    test('shows a file whole, old or new, while it is written again and again', async () => {
      const file = `${fresh()}/file`;
      const versions = [new Uint8Array(200_000).fill(1), new Uint8Array(100_000).fill(2)];
      await store.write(file, versions[0] ?? new Uint8Array(0));
      const work = { on: true };
      const reads = (async () => {
        let count = 0;
        for (; work.on; count++) {
          const bytes = await other.read(file);
          const first = bytes?.[0] ?? 0;
          expect(bytes).toHaveLength(versions[first - 1]?.length ?? -1);
          expect(bytes?.every((byte) => byte === first)).toBe(true);
        }
        return count;
      })();
      for (let round = 0; round < 10; round++) await store.write(file, versions[round % 2] ?? new Uint8Array(0));
      work.on = false;
      expect(await reads).toBeGreaterThan(0);
    });

    test('writes, creates, lists and removes in one folder at once', async () => {
      const folder = `${fresh()}/month=2024-01`;
      const ends = await Promise.all(
        Array.from({ length: 8 }, async (_, worker) => {
          const mine = worker % 2 ? store : other;
          for (let round = 0; round < 4; round++) {
            const file = `${folder}/${worker}-${round}`;
            if (round % 2) await mine.write(file, bytesOf(file));
            else expect(await mine.create(file, bytesOf(file))).toBe(true);
            await pathsOf(mine.list(folder));
            if (round < 3) await mine.remove(file);
          }
          return `${folder}/${worker}-3`;
        }),
      );
      expect(await pathsOf(store.list(folder))).toEqual(ends.sort(byBytes));
      for (const file of ends) expect(textOf(await store.read(file))).toBe(file);
    });

    test.each([
      '',
      '/etc/passwd',
      '../outside',
      'a/../../b',
      'a/./b',
      'a//b',
      'a/',
      'a\\b',
      'a\0b',
      'a\nb',
      '_tmp/x',
      'a/\uD800',
    ])('refuses the path %j', async (bad) => {
      const refused: unknown = expect.objectContaining({ name: 'LedgerlakeError', code: 'LAKE_STORE' });
      await expect(store.read(bad)).rejects.toEqual(refused);
      await expect(store.readRange(bad, 0, 1)).rejects.toEqual(refused);
      await expect(store.write(bad, bytesOf('x'))).rejects.toEqual(refused);
      await expect(store.create(bad, bytesOf('x'))).rejects.toEqual(refused);
      await expect(store.remove(bad)).rejects.toEqual(refused);
      if (bad !== '') await expect((async () => pathsOf(store.list(bad)))()).rejects.toThrow(LedgerlakeError);
    });

    test('sweeps without touching a file of the lake or of a writer at work', async () => {
      const folder = fresh();
      const texts = Array.from({ length: 20 }, (_, at) => `${folder}/${at}`);
      await Promise.all([
        ...texts.map((file) => store.write(file, bytesOf(file))),
        ...texts.slice(0, 5).map(() => other.removeUnfinished()),
      ]);
      expect(await other.removeUnfinished()).toBe(0);
      expect(await pathsOf(store.list(folder))).toEqual(texts.sort(byBytes));
    });

    test('says where it is', () => {
      expect(store.address('entries/a b/x.parquet')).toBe(
        `${store.address('')}${store.address('').endsWith('/') ? '' : '/'}entries/a b/x.parquet`,
      );
    });
  });
}
