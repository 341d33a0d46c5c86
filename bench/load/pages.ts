import { createWriteStream } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { eventLists } from '../../src/sources/finances/model/records.js';
import { pageBody } from '../../src/serve/http/event-operations.js';

export const dayMs = 86_400_000;
/** The first day of the input; the seller's history ends a month behind the last one. */
const firstDay = Date.UTC(2025, 0);
/** Makes about 14 MB of bodies a day. */
const eventsPerDay = 11_000;
const mostDays = 1000;

/** Those that make up nearly all of what a shop sells. */
const usualLists = ['ShipmentEventList', 'RefundEventList', 'ServiceFeeEventList', 'AdjustmentEventList'];

/** What the input's events are of: with LISTS=4 in the environment four lists of a usual seller, else all, and whatever JSON allows. */
const isUsual = process.env['LISTS'] === '4';
export const inputLists: readonly string[] = isUsual ? usualLists : Object.keys(eventLists);

/** Saved response bodies of one day, one a line. */
export interface DayFile {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970; the day ends 24 hours later. */
  readonly start: number;
}

/**
 * Writes saved response bodies of a made-up seller until they have the given number of bytes: one file a day, one body a
 * line, as a run that reads day by day would receive them. The same size and seed give the same bytes.
 */
export async function writePages(folder: string, bytes: number, seed: number): Promise<DayFile[]> {
  await mkdir(folder, { recursive: true });
  const clock = { now: () => firstDay + mostDays * dayMs, sleep: () => Promise.resolve() };
  const seller = createSeller(
    { seed, events: eventsPerDay * mostDays, days: mostDays, profile: isUsual ? 'plausible' : 'edge-cases' },
    clock,
  );
  let written = 0;
  for (let start = firstDay; written < bytes; start += dayMs) {
    const path = join(folder, `${new Date(start).toISOString().slice(0, 10)}.ndjson`);
    const file = createWriteStream(path);
    let cursor: string | undefined;
    do {
      const query = { cursor, limit: 100, asOf: clock.now() };
      const page = await seller.events({ from: start, to: start + dayMs }, query);
      const items = page.items.filter(({ list }) => inputLists.includes(list));
      const body = Buffer.from(`${pageBody('FinancialEvents', items, page.next)}\n`);
      written += body.length;
      file.write(body);
      cursor = page.next;
    } while (cursor !== undefined && written < bytes);
    file.end();
    await finished(file);
  }
  return dayFiles(folder);
}

/** The files that `writePages` wrote, by day. */
export async function dayFiles(folder: string): Promise<DayFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ndjson')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, bytes: (await stat(path)).size, start: Date.parse(name.slice(0, 10)) };
    }),
  );
}
