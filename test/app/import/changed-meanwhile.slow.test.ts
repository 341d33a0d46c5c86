import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');

const limits = { ...importLimits, chunkBytes: 1 };

/** Hours since 27 February, and orders: equal pairs are equal events. */
type Page = readonly (readonly [hour: number, order: number])[];

function itemOf([hour, order]: Page[number]): DatedItem {
  return shipment(new Date(Date.UTC(2025, 1, 27, hour)).toISOString(), `111-0000000-000000${order}`);
}

function bodyOf(page: Page): string {
  return eventsBody(page.map(itemOf));
}

/** How often each event comes in some pages. */
function timesOf(pages: readonly Page[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { json } of pages.flat().map(itemOf)) times.set(json, (times.get(json) ?? 0) + 1);
  return times;
}

const page = fc.array(fc.tuple(fc.constantFrom(0, 1, 30), fc.integer({ min: 1, max: 2 })), { maxLength: 4 });
const pages = fc.array(page, { maxLength: 4 });
const meanwhile = fc.oneof(
  pages.map((own) => ({ kind: 'page', page: own.flat() }) as const),
  pages.map((own) => ({ kind: 'import', pages: own }) as const),
  fc.constant({ kind: 'compact' } as const),
);

test('whatever others import and merge while an import reads, a lake has of each event as many as the input that has the most', async () => {
  await fc.assert(
    fc.asyncProperty(
      pages,
      fc.array(meanwhile, { minLength: 1, maxLength: 6 }),
      pages,
      fc.constantFrom(1, 700, 8_000_000),
      async (before, steps, behind, chunkBytes) => {
        const lake = { root: await temporaryFolder(), clock };
        const stdin = async function* () {
          for (const step of steps) {
            if (step.kind === 'page') yield Buffer.from(`${bodyOf(step.page)}\n`);
            else if (step.kind === 'import') await imported(lake, [await fileOf(step.pages.map(bodyOf))]);
            else await compacted({ lake: lake.root, account: undefined }, { clock });
          }
        };
        const [first, last] = [await fileOf(before.map(bodyOf)), await fileOf(behind.map(bodyOf))];
        const { failure } = await imported(lake, [first, '-', last], {
          limits: { ...importLimits, chunkBytes },
          stdin,
        });
        expect(failure).toBeUndefined();

        const read = steps.flatMap((step) => (step.kind === 'page' ? [step.page] : []));
        const others = steps.flatMap((step) => (step.kind === 'import' ? [step.pages] : []));
        const most = new Map<string, number>();
        for (const input of [before, read, behind, ...others]) {
          for (const [json, times] of timesOf(input)) most.set(json, Math.max(times, most.get(json) ?? 0));
        }
        const opened = await database(lake.root, clock);
        const rows = await opened.rows('SELECT raw, count(*) AS times FROM events GROUP BY raw');
        expect(new Map(rows.map(({ raw, times }) => [String(raw), Number(times)]))).toEqual(most);
        const doubled = await opened.rows(
          'SELECT event_id FROM events GROUP BY ALL HAVING count(*) > 1 UNION ALL ' +
            "SELECT window_start || ' ' || position FROM events GROUP BY window_start, position HAVING count(*) > 1",
        );
        expect(doubled).toEqual([]);
        if (most.size > 0) expect(found(await verified(lake))).toEqual([]);
      },
    ),
    { numRuns: 20 },
  );
});

const event = [0, 1] as const;
const another = [1, 1] as const;
/** Of another month. */
const later = [80, 1] as const;

/** How often the event is in a lake. */
async function times(root: string): Promise<number> {
  const opened = await database(root, clock);
  const { json } = itemOf(event);
  const rows = await opened.rows('SELECT raw FROM events');
  return rows.filter(({ raw }) => raw === json).length;
}

/** An input that is read once the lake has so many versions of `events`. */
async function waitingInput(root: string, versions: number, read: readonly Page[]): Promise<string> {
  const path = join(await temporaryFolder(), 'pipe');
  await promisify(execFile)('mkfifo', [path]);
  const committed = async () => {
    const names = await readdir(join(root, 'events', '_delta_log')).catch(() => []);
    return names.filter((name) => name.endsWith('.json')).length >= versions;
  };
  const written = vi
    .waitUntil(committed, { timeout: 600_000, interval: 20 })
    .then(() => writeFile(path, read.map((of) => `${bodyOf(of)}\n`).join('')));
  onTestFinished(() => written);
  return path;
}

test('a file that is merged while an import goes on counts once for what comes behind', async () => {
  const lake = { root: await temporaryFolder(), clock };
  for (const one of [event, another]) await imported(lake, [await fileOf([bodyOf([one])])]);
  const last = await waitingInput(lake.root, 4, [[event, event]]);
  const stdin = async function* () {
    yield Buffer.from(`${bodyOf([event])}\n`);
    await compacted({ lake: lake.root, account: undefined }, { clock });
    yield Buffer.from(`${bodyOf([later])}\n`);
  };
  expect((await imported(lake, ['-', last], { limits, stdin })).failure).toBeUndefined();
  expect(await times(lake.root)).toBe(2);
});

test('an event that another run has brought first counts once for what comes behind', async () => {
  const lake = { root: await temporaryFolder(), clock };
  const same = await fileOf([bodyOf([event, another])]);
  const last = await waitingInput(lake.root, 2, [[event, event]]);
  const stdin = async function* () {
    yield Buffer.from(`${bodyOf([event])}\n`);
    await imported(lake, [same]);
    yield Buffer.from(`${bodyOf([later])}\n`);
  };
  expect((await imported(lake, ['-', last], { limits, stdin })).failure).toBeUndefined();
  expect(await times(lake.root)).toBe(2);
});

test.each([
  ['is not doubled', [[2, 1]], 1],
  ['still comes in twice where the input has it twice', [event], 2],
] as const)(
  'an event that another run has brought first, and whose file was read for a later part, %s',
  async (_, behind, expected) => {
    const lake = { root: await temporaryFolder(), clock };
    const months = Array.from({ length: 40 }, (__, month) => [(month + 2) * 31 * 24, 9] as const);
    // Its commits go on while the next input is read, which sees the lake as it is by then.
    const first = await fileOf([bodyOf(months)]);
    const same = await fileOf([bodyOf([event, another])]);
    const stdin = async function* () {
      yield Buffer.from(`${bodyOf([event])}\n`);
      await imported(lake, [same]);
      yield Buffer.from(`${bodyOf(behind)}\n`);
    };
    expect((await imported(lake, [first, '-'], { limits, stdin })).failure).toBeUndefined();
    expect(await times(lake.root)).toBe(expected);
  },
);
