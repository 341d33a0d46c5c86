import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { pageBody } from '../../src/serve/api-v0/event-operations.js';
import { dayFiles, dayMs, type DayFile } from './day-files.js';
import { inputLists, isUsual } from './input-lists.js';

/** The first day of the input; the seller's history ends a month behind the last one. */
const firstDay = Date.UTC(2025, 0);
/** Makes about 14 MB of bodies a day. */
const eventsPerDay = 11_000;
const mostDays = 1000;

/**
 * Writes saved response bodies of a synthetic seller until they have the given number of bytes: one file a day, one body a
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
      const page = await seller.events({ start, end: start + dayMs }, query);
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
