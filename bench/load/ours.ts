import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventCollector } from '../../src/sources/finances/api-v0/collectors.js';
import { scanPage } from '../../src/sources/finances/api-v0/finances-page.js';
import { windowSubject } from '../../src/sources/finances/model/slice-rows.js';
import { entries, events } from '../../src/sources/finances/api-v0/event-tables.js';
import { Tape } from '../../src/core/json/tape.js';
import { encodeFile } from '../../src/core/parquet/encode-file.js';
import type { Batch } from '../../src/engine/run/pipeline.js';
import { fileMetadata } from '../../src/lake/files/new-file.js';
import { dayFiles, dayMs, type DayFile } from './day-files.js';

/** Saved bodies as the batches of both tables, a day at a time: the way that a slice goes. */
export async function* dayBatches(input: string): AsyncGenerator<{ label: string; batches: readonly Batch[] }> {
  for (const day of await dayFiles(input)) {
    yield { label: labelOf(day), batches: batchesOf(day, await readFile(day.path)) };
  }
}

/** Both tables, on one thread: a file each for every day, with what the log says of it. */
export async function loadOurs(input: string, output: string): Promise<void> {
  for await (const { label, batches } of dayBatches(input)) {
    for (const batch of batches) {
      const { table } = batch;
      const { bytes } = await encodeFile(batch, fileMetadata('financial-events', 'demo', label));
      await writeFile(join(output, `${table.name}-${label}.parquet`), bytes);
    }
  }
}

function labelOf({ start }: DayFile): string {
  return new Date(start).toISOString().slice(0, 10);
}

function batchesOf({ start }: DayFile, bytes: Buffer): readonly Batch[] {
  const subject = windowSubject({ start, end: start + dayMs });
  const collector = eventCollector({ events, entries }, () => new Date(start).toISOString().slice(0, 7));
  const tape = new Tape();
  for (const body of lines(bytes)) collector.add({ page: scanPage(body, { tape }), subject });
  return collector.finish();
}

function* lines(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(0x0a, from);
    const end = found < 0 ? bytes.length : found;
    yield bytes.subarray(from, end);
    from = end + 1;
  }
}
