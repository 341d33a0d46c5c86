import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { threadLimitsOf } from '../../../src/core/worker-thread.js';
import { builtCommand } from '../built-command.js';
import { clockAt, database, fileContents, fileHashes, temporaryFolder } from '../lake-run.js';
import { builtChunkThread, scripted } from '../../core/built-thread.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported, value } from './imported.js';

const clock = clockAt('2025-04-20T00:00:00Z');
const day = 86_400_000;

/** Pages of 20 events, four a day, some events as equal as they can be across pages. */
function pages(count: number): string[] {
  return Array.from({ length: count }, (_, page) => {
    const at = Date.UTC(2025, 0, 20) + Math.floor(page / 4) * day;
    const items = Array.from({ length: 20 }, (__, number) => {
      const order = number === 0 ? 0 : page * 20 + number;
      const iso = new Date(at + number * 60_000).toISOString();
      return shipment(iso, `111-0000000-${String(order).padStart(7, '0')}`);
    });
    return eventsBody(items);
  });
}

async function emptyLake() {
  return { root: await temporaryFolder(), clock };
}

function threaded(script: URL, threads = 2) {
  return { limits: { ...importLimits, chunkBytes: 30_000, thread: { from: 0, script, threads } } };
}

async function parquetFiles(root: string): Promise<string[]> {
  return [...(await fileHashes(root)).keys()].filter((path) => path.endsWith('.parquet'));
}

test.each([[1], [2], [3]])(
  'an import writes the same files with %i threads and with none beside its own, in days that go on from part to part',
  async (threads) => {
    const [one, two] = [await emptyLake(), await emptyLake()];
    const file = await fileOf(pages(40));
    const inline = { limits: { ...importLimits, chunkBytes: 30_000, thread: { from: Infinity } } };
    const first = await imported(one, [file], inline);
    const second = await imported(two, [file], threaded(builtChunkThread, threads));
    expect(first.summary.pipelines['financial-events']).toMatchObject({ events: 800 });
    const files = await fileContents(one.root);
    expect(files.length).toBeGreaterThan(10);
    expect(await fileContents(two.root)).toEqual(files);
    expect(second.summary.pipelines['financial-events']).toEqual(first.summary.pipelines['financial-events']);
    const opened = await database(two.root, clock);
    // Four equal events a day, in several parts.
    expect(await value(opened, "SELECT count(*) FROM events WHERE event_id LIKE '%-4'")).toBe('10');
    expect(await value(opened, 'SELECT count(*) - count(DISTINCT event_id) FROM events')).toBe('0');
    expect(found(await verified(two))).toEqual([]);
  },
);

test.each([
  ['dies', "if (job.id === 1) throw new Error('out of luck');", /out of luck/],
  ['refuses a file', "parentPort.postMessage({ id: job.id, message: 'no room', code: 'ENCODER' })", /no room/],
])('an import whose thread %s ends with one error, and nothing of it in the lake', async (_, script, message) => {
  const lake = await emptyLake();
  const { failure } = await imported(lake, [await fileOf(pages(40))], threaded(scripted(script)));
  expect(failure).toMatchObject({ code: 'ENCODER', exitCode: 1 });
  expect(String(failure)).toMatch(message);
  expect(await parquetFiles(lake.root)).toEqual([]);
  // The same command goes on.
  await imported(lake, [await fileOf(pages(40))], threaded(builtChunkThread));
  expect(found(await verified(lake))).toEqual([]);
});

test('a signal in the middle ends an import whose thread is stuck', async () => {
  const stop = new AbortController();
  const lake = await emptyLake();
  const running = imported({ ...lake, signal: stop.signal }, [await fileOf(pages(40))], threaded(scripted('')));
  setTimeout(() => {
    stop.abort(new Error('told to stop'));
  }, 500);
  expect(String((await running).failure)).toContain('told to stop');
  expect(await parquetFiles(lake.root)).toEqual([]);
});

test('a broken line behind rows that are being written leaves nothing of its file', async () => {
  const lake = await emptyLake();
  const broken = await fileOf([...pages(40), '{"payload":'], 'broken.ndjson');
  const { failure } = await imported(
    lake,
    [broken, await fileOf(pages(4), 'sound.ndjson')],
    threaded(builtChunkThread),
  );
  expect(failure).toMatchObject({ code: 'BROKEN_LINE' });
  expect(await value(await database(lake.root, clock), 'SELECT count(*) FROM events')).toBe('80');
});

test('a page of 10 MB and an event of 5 MB come through a thread', async () => {
  const long = `{"AmazonOrderId":"111-0000000-0000001","PostedDate":"2025-02-01T00:00:00Z","Note":"${'x'.repeat(5_000_000)}"}`;
  const { json: usual } = shipment('2025-02-01T10:00:00Z', '222-0000000-0000001');
  const count = Math.ceil(10_000_000 / usual.length);
  const large = `{"payload":{"FinancialEvents":{"ShipmentEventList":[${Array(count).fill(usual).join(',')}]}}}`;
  const bodies = [large, eventsBody([{ list: 'ShipmentEventList', json: long }]), ...pages(4)];
  const lake = await emptyLake();
  await imported(lake, [await fileOf(bodies)], {
    limits: { ...importLimits, thread: { from: 0, script: builtChunkThread } },
  });
  const opened = await database(lake.root, clock);
  expect(await value(opened, 'SELECT count(*) FROM events')).toBe(String(count + 1 + 80));
  expect(await value(opened, 'SELECT max(length(raw)) FROM events')).toBe(String(long.length));
});

test('files do not depend on --threads, on either side of what one is started for', async () => {
  const [first, later] = [0, 1].map((second) => {
    const items = Array.from({ length: 26 }, (_, number) => ({
      ...shipment(`2025-03-04T10:00:0${second}Z`, `111-000000${second}-${String(number).padStart(7, '0')}`),
      Padding: 'x'.repeat(1_000_000),
    }));
    return eventsBody(items);
  });
  const file = await fileOf([first ?? '', later ?? '']);
  const contents = async (...words: readonly string[]) => {
    const folder = await temporaryFolder();
    const ended = await builtCommand(['import', '--account', 'shop', '--lake', 'lake', ...words, file], { folder });
    expect(ended).toMatchObject({ code: 0 });
    return fileContents(join(folder, 'lake'));
  };
  expect(threadLimitsOf(1).from).toBe(Infinity);
  expect(threadLimitsOf(2).from).toBeLessThan(52_000_000);
  const alone = await contents('--threads', '1');
  expect(alone.length).toBeGreaterThan(1);
  expect(await contents('--threads', '2')).toEqual(alone);
  expect(await contents('--threads', '16')).toEqual(alone);
});

test.each(['0', 'two', '1.5', '-1'])('--threads %j is refused', async (threads) => {
  for (const command of [['import', 'a.ndjson'], ['rebuild']]) {
    const { code, out, err } = await builtCommand([...command, `--threads=${threads}`], {
      folder: await temporaryFolder(),
    });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/expected --threads to be a whole number from 1, got/);
  }
});
