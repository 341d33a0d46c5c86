// Writes data/sample/ anew from the synthetic seller: same program, same bytes. Run `npm run modules` first, then
// `node data/make-sample.js`.
import { writeFile } from 'node:fs/promises';
import { createSeller } from '../dist/modules/src/emulator/seller/seller.js';
import { pageBody } from '../dist/modules/src/serve/http/bodies.js';

const day = 86_400_000;
/** What the seller takes for now: one fixed instant, so that the sample doesn't change from day to day. */
const now = Date.parse('2025-02-15T00:00:00Z');
const clock = { now: () => now, sleep: () => Promise.reject(new Error('the synthetic seller never waits')) };
const seller = createSeller({ seed: 20250215, events: 900, days: 90, profile: 'edge-cases' }, clock);

/** All pages of one question, each as the service would send it. */
async function bodies(result, limit, ask) {
  const pages = [];
  let cursor;
  do {
    const page = await ask({ cursor, limit, asOf: now });
    const token = page.next === undefined ? undefined : Buffer.from(`${result} ${page.next}`).toString('base64');
    pages.push(pageBody(result, page.items, token));
    cursor = page.next;
  } while (cursor !== undefined);
  return pages;
}

async function write(name, pages) {
  const file = new URL(`sample/${name}.ndjson`, import.meta.url);
  await writeFile(file, pages.map((page) => `${page}\n`).join(''));
}

const january = { from: Date.parse('2025-01-01T00:00:00Z'), to: Date.parse('2025-02-01T00:00:00Z') };
await write('financial-events', await bodies('FinancialEvents', 50, (query) => seller.events(january, query)));
const groupsRange = { from: now - 90 * day, to: now };
await write('financial-event-groups', await bodies('FinancialEventGroupList', 100, (query) => seller.groups(groupsRange, query)));
