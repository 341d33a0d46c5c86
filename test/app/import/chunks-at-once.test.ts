import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ChunkEncoder } from '../../../src/app/import/chunks/chunk-encoder.js';
import { ChunkFlattener } from '../../../src/app/import/chunks/chunk-flattener.js';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { clockAt, database, fileContents, temporaryFolder } from '../lake-run.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported, value } from './imported.js';

/** A page of so many events of a day, none of which any other page has. */
function page(number: number, events: number): string {
  return eventsBody(
    Array.from({ length: events }, (_, order) =>
      shipment(`2025-02-${String(number + 1).padStart(2, '0')}T10:00:00Z`, `111-${number}-${order}`),
    ),
  );
}

/** A chunk with one line, ready to be encoded. */
function placed(body: string): Parameters<ChunkEncoder['encode']> {
  const line = Buffer.from(body);
  const bytes = new Uint8Array(new SharedArrayBuffer(line.length));
  bytes.set(line);
  const lines = { bytes, starts: Int32Array.of(0), ends: Int32Array.of(line.length) };
  const { events, flat } = new ChunkFlattener().flatten(lines);
  if (flat === undefined) throw new Error('expected events with dates');
  const positions = Int32Array.from({ length: events }, (_, row) => row);
  const months = flat.months.map((one) => ({ ...one, metadata: new Map() }));
  return [lines, flat.rows, { nth: flat.nth, positions, months }];
}

const pages = [300, 40, 170, 1].map((events, number) => page(number, events));

test('chunks that are encoded at once on one thread give the bytes that they give one after the other', async () => {
  const alone = [];
  for (const chunk of pages.map(placed)) alone.push(await new ChunkEncoder().encode(...chunk));
  const encoder = new ChunkEncoder();
  const atOnce = await Promise.all(pages.map(placed).map((chunk) => encoder.encode(...chunk)));
  expect(atOnce).toEqual(alone);
  expect(alone.map(([files]) => files?.events.rows)).toEqual([300, 40, 170, 1]);
});

test('an input that has a little more than a chunk becomes two files of about one size', async () => {
  const clock = clockAt('2025-03-20T00:00:00Z');
  const lake = { root: await temporaryFolder(), clock };
  const bodies = Array.from({ length: 20 }, (_, number) => page(number, 10));
  const bytes = bodies.reduce((sum, body) => sum + body.length + 1, 0);
  const limits = { ...importLimits, chunkBytes: Math.ceil(bytes / 1.04) };
  expect((await imported(lake, [await fileOf(bodies)], { limits })).failure).toBeUndefined();
  const files = `read_parquet('${lake.root}/events/**/*.parquet', filename = true)`;
  const opened = await database(lake.root, clock);
  const counts = `SELECT list(n ORDER BY n) FROM (SELECT count(*) AS n FROM ${files} GROUP BY filename)`;
  expect(await value(opened, counts)).toBe('[90,110]');
});

test('several small inputs of one import bring what each of them brings alone', async () => {
  const clock = clockAt('2025-03-20T00:00:00Z');
  const files = await Promise.all(pages.map((body) => fileOf([body])));
  const together = { root: await temporaryFolder(), clock };
  expect((await imported(together, files)).failure).toBeUndefined();
  const oneByOne = { root: await temporaryFolder(), clock };
  for (const file of files) expect((await imported(oneByOne, [file])).failure).toBeUndefined();
  const contents = await fileContents(together.root);
  expect(contents).toEqual(await fileContents(oneByOne.root));
  expect(contents.length).toBeGreaterThan(4);
  expect(found(await verified(together))).toEqual([]);
});

test('after an input that cannot be read to its end nothing further is read', async () => {
  const clock = clockAt('2025-03-20T00:00:00Z');
  const lake = { root: await temporaryFolder(), clock };
  const file = await fileOf([pages[0] ?? '']);
  const gone = await fileOf([pages[1] ?? '']);
  // It is there when the inputs are looked at, and gone when it is to be read: standard input never says a word.
  const stdin = async function* (): AsyncGenerator<Buffer> {
    yield await new Promise<Buffer>(() => undefined);
  };
  const store = openStore(lake.root, { clock });
  const first = store.write.bind(store);
  store.write = async (...of) => {
    await rm(gone, { force: true });
    return first(...of);
  };
  const { failure } = await imported(lake, [file, gone, '-'], { stdin, store });
  expect(String(failure)).toContain('ENOENT');
});
