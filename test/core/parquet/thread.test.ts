import { expect, onTestFinished, test } from 'vitest';
import type { Table } from '../../../src/core/columns/table.js';
import { TableRows } from '../../../src/core/columns/table-rows.js';
import { eventCollector } from '../../../src/sources/finances/api-v0/collectors.js';
import { scanPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { windowSource } from '../../../src/sources/finances/model/slice-rows.js';
import { entries, events } from '../../../src/sources/finances/model/tables.js';
import { ParquetThread, sameThread } from '../../../src/core/parquet/thread.js';
import type { Batch } from '../../../src/engine/run/pipeline.js';
import { eventsBody } from '../../app/import/imported.js';
import { shipment } from '../../app/sync/made-up-shop.js';
import { builtThread, scripted } from './built-thread.js';

const metadata = new Map([['ledgerlake', 'a test']]);

/** Several amounts of one event: their rows share runs. */
const fees = ['1.25', '-0.5', '7', '0.01'].map((amount) => ({
  FeeType: 'Commission',
  FeeAmount: { CurrencyCode: 'USD', CurrencyAmount: Number(amount) },
}));

/** Both tables' rows of so many events. */
function batches(count: number, padding = ''): readonly Batch[] {
  const source = windowSource({ start: Date.UTC(2025, 2, 4), end: Date.UTC(2025, 2, 5) });
  const collector = eventCollector({ events, entries }, () => '2025-03');
  const items = Array.from({ length: count }, (_, at) => ({
    ...shipment('2025-03-04T10:00:00Z', `111-0000000-${String(at).padStart(7, '0')}`),
    ...(at % 3 === 0 ? { ShipmentFeeList: fees } : {}),
    ...(padding === '' ? {} : { Padding: padding }),
  }));
  collector.add({ page: scanPage(Buffer.from(eventsBody(items))), source });
  return [...collector.finish()];
}

function batch(count = 3): Batch {
  const [first] = batches(count);
  if (first === undefined) throw new Error('no rows');
  return first;
}

function thread(script: URL, signal = new AbortController().signal): ParquetThread {
  const started = new ParquetThread({ signal, script });
  onTestFinished(() => started.close());
  return started;
}

test('a thread writes the bytes and the statistics that are written without one, in whatever order they are waited for', async () => {
  const own = thread(builtThread);
  const taken = [];
  for (const count of [1, 2, 700, 5000]) {
    for (const { rows } of batches(count)) taken.push(await own.take(rows, metadata));
  }
  const files = await Promise.all(taken.reverse().map(({ file }) => file));
  const wanted = [];
  for (const count of [1, 2, 700, 5000]) {
    for (const { rows } of batches(count)) wanted.push(await (await sameThread.take(rows, metadata)).file);
  }
  expect(wanted).toHaveLength(8);
  for (const [at, { bytes, rows, stats }] of wanted.reverse().entries()) {
    expect(files[at]).toMatchObject({ rows, stats });
    expect(Buffer.compare(files[at]?.bytes ?? Buffer.alloc(0), bytes)).toBe(0);
  }
});

test('what was taken may be written over at once, also where it is more than memory is kept for', async () => {
  const own = thread(builtThread);
  for (const [count, padding] of [
    [3, ''],
    [20, 'x'.repeat(1_000_000)],
  ] as const) {
    for (const { rows } of batches(count, padding)) {
      const wanted = await (await sameThread.take(rows, metadata)).file;
      const { file } = await own.take(rows, metadata);
      for (const { batch: held, lengths } of rows.parts) {
        for (const { buffers } of held.data.children) {
          const arrays: readonly unknown[] = Object.values(buffers as object);
          for (const array of arrays) {
            if (ArrayBuffer.isView(array)) new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(0xee);
          }
        }
        lengths?.fill(7);
      }
      expect(Buffer.compare((await file).bytes, wanted.bytes)).toBe(0);
    }
  }
});

test.each([
  ['exits', 'process.exit(3)', /ended \(exit code 3\)/],
  ['throws', "throw new Error('the encoder is on fire')", /the encoder is on fire/],
  ['runs out of memory', 'const held = []; for (;;) held.push(new Array(1e5).fill(job.id));', /memory/],
])('a thread that %s fails what is under way, and what comes after it', async (_, script, message) => {
  const dying = thread(scripted(script));
  const { rows } = batch();
  const { file } = await dying.take(rows, metadata);
  await expect(file).rejects.toMatchObject({ code: 'ENCODER', exitCode: 1 });
  await expect(file).rejects.toThrow(message);
  const next = batch();
  await expect(dying.take(next.rows, metadata)).rejects.toMatchObject({ code: 'ENCODER' });
});

test('a signal ends the wait for a thread that never answers, with its reason', async () => {
  const stop = new AbortController();
  const silent = thread(scripted(''), stop.signal);
  const { rows } = batch();
  const { file } = await silent.take(rows, metadata);
  const others = [batch(), batch()];
  const waiting = (async () => {
    for (const other of others) await silent.take(other.rows, metadata);
  })();
  stop.abort(new Error('enough'));
  await expect(file).rejects.toThrow('enough');
  await expect(waiting).rejects.toThrow('enough');
});

test('more than three files are never under way', async () => {
  const silent = thread(
    scripted(
      "if (job.id === 0) parentPort.postMessage({ id: 0, stream: job.question.stream, message: 'no', code: 'ENCODER' })",
    ),
  );
  const order: string[] = [];
  const takes = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const { rows } = batch();
    takes.push(
      silent.take(rows, metadata).then(
        ({ file }) => {
          order.push(`${name} taken`);
          return file.catch(() => order.push(`${name} failed`));
        },
        () => order.push(`${name} refused`),
      ),
    );
  }
  await expect.poll(() => order.length, { timeout: 600_000 }).toBeGreaterThan(4);
  expect(order.toSorted()).toEqual(['a failed', 'a taken', 'b taken', 'c taken', 'd taken']);
  await silent.close();
  await Promise.all(takes);
  expect(order).toContain('e refused');
});

test('what the encoder refuses fails its own file, and says which table', async () => {
  const own = thread(builtThread);
  const { rows } = batch();
  const impossible: Table = {
    ...rows.table,
    columns: rows.table.columns.map((column) => (column.name === 'event_id' ? { ...column, type: 'integer' } : column)),
  };
  const { file } = await own.take(TableRows.fromBatch(impossible, rows.batch), metadata);
  await expect(file).rejects.toMatchObject({ code: 'ENCODER' });
  await expect(file).rejects.toThrow(/expected a Parquet file for entries/);
});
