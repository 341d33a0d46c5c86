import fc from 'fast-check';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { unreadEvents } from '../../../src/app/unread-events.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { clockAt, ran, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { fileOf, imported } from './imported.js';

const clock = clockAt('2025-06-01T00:05:00Z');

const money = '{"CurrencyCode":"USD","CurrencyAmount":12.5}';

/** A page of a file: its events, or groups, and the one among them that is no JSON. */
interface Page {
  readonly isOfGroups: boolean;
  /** The days of March on which its items are; 0: an event without a date. */
  readonly days: readonly number[];
  /** Where the broken item is among the others; undefined: there is none. */
  readonly broken: number | undefined;
}

function item({ isOfGroups }: Page, day: number, id: string, text = 'Lamp'): string {
  const date = `2025-03-${String(day).padStart(2, '0')}T05:06:07Z`;
  if (isOfGroups)
    return `{"FinancialEventGroupId":"${id}","FinancialEventGroupStart":"${date}","OriginalTotal":${money},"TraceId":"${text}"}`;
  const posted = day === 0 ? '' : `"PostedDate":"${date}",`;
  return `{"AdjustmentType":"${id}",${posted}"AdjustmentAmount":${money},"ProductDescription":"${text}"}`;
}

/** The line of a page, and the byte at which its broken item begins. */
function lineOf(page: Page, id: string, isMended = false): { readonly line: string; readonly byte: number } {
  const items = page.days.map((day, at) => item(page, page.isOfGroups ? Math.max(day, 1) : day, `${id}-${at}`));
  const broken = item(page, 3, `${id}-broken`, isMended ? 'Lamp 5 wide' : 'Lamp 5" wide');
  if (page.broken !== undefined) items.splice(page.broken, 0, broken);
  const list = items.join(',');
  const line = page.isOfGroups
    ? `{"payload":{"FinancialEventGroupList":[${list}]}}`
    : `{"payload":{"FinancialEvents":{"AdjustmentEventList":[${list}]}}}`;
  return { line, byte: page.broken === undefined ? -1 : line.indexOf(broken) };
}

const aPage = fc.record({
  isOfGroups: fc.boolean(),
  days: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }),
  broken: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
});

/** Pages of which some event and some group have a day, so that the file is not left out. */
const aFile = fc
  .array(aPage, { maxLength: 4 })
  .map((pages): Page[] => [
    ...pages,
    { isOfGroups: false, days: [4], broken: undefined },
    { isOfGroups: true, days: [5], broken: 0 },
  ]);

async function listed(root: string): Promise<string[]> {
  const lake = await Lake.open(diskStore(root), tables, clock);
  return unreadEvents(lake, 'demo')
    .map(({ file, line, byte }) => `${file} ${line} ${byte}`)
    .toSorted();
}

async function versionOf(root: string): Promise<number> {
  return (await Lake.open(diskStore(root), tables, clock)).snapshot.version;
}

test('the holes of the lake are those of the files, whatever the order of the imports, until a file is mended', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aFile, { minLength: 2, maxLength: 3 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat()),
      async (files, isTogether, numbers) => {
        const root = join(await temporaryFolder(), 'lake');
        const paths: string[] = [];
        const expected: string[] = [];
        for (const [at, pages] of files.entries()) {
          const lines = pages.map((page, line) => lineOf(page, `${at}-${line}`));
          paths.push(
            await fileOf(
              lines.map(({ line }) => line),
              `file-${at}.ndjson`,
            ),
          );
          expected.push(...lines.flatMap(({ byte }, line) => (byte < 0 ? [] : [`file-${at}.ndjson ${line} ${byte}`])));
        }
        const order = () => {
          const turns = new Map(paths.map((path) => [path, numbers.next()]));
          return paths.toSorted((a, b) => Number(turns.get(a)?.value) - Number(turns.get(b)?.value));
        };
        const runs = (inOrder: string[]) => (isTogether ? [inOrder] : inOrder.map((path) => [path]));
        for (const some of runs(order()))
          expect((await imported({ root, clock }, some)).failure).toMatchObject({ code: 'HOLES' });
        expect(await listed(root)).toEqual(expected.toSorted());

        const version = await versionOf(root);
        for (const some of runs(order())) await imported({ root, clock }, some);
        expect(await versionOf(root)).toBe(version);

        // From another folder, under the same name.
        const mended = files[0]?.map((page, line) => lineOf(page, `0-${line}`, true).line) ?? [];
        expect((await imported({ root, clock }, [await fileOf(mended, 'file-0.ndjson')])).failure).toBeUndefined();
        expect(await listed(root)).toEqual(expected.filter((hole) => !hole.startsWith('file-0')).toSorted());
      },
    ),
    { numRuns: 4 },
  );
});

test('status and verify say how to mend a hole of a file, compact keeps it, and a load of its day removes it', async () => {
  const root = join(await temporaryFolder(), 'lake');
  const page: Page = { isOfGroups: false, days: [4, 4], broken: 1 };
  const { line, byte } = lineOf(page, 'a');
  const dateless = lineOf({ ...page, days: [], broken: 0 }, 'c').line.replace('"PostedDate"', '"Date"');
  expect((await imported({ root, clock }, [await fileOf([dateless], 'dateless.ndjson')])).failure).toMatchObject({
    code: 'HOLES',
  });
  await imported({ root, clock }, [await fileOf(['', line], 'march.ndjson')]);
  await imported({ root, clock }, [await fileOf([lineOf({ ...page, broken: undefined }, 'b').line], 'other.ndjson')]);
  await compact(
    { lake: root, pipelines: [], account: undefined },
    { clock, signal: new AbortController().signal, emit: () => undefined },
  );
  const { code, problems } = await verified({ root, clock });
  expect(code).toBe(0);
  expect(problems).toMatchObject([
    {
      check: 'unread-events',
      problem: `left out: line 2 of march.ndjson, byte ${byte}; correct the line, and import the file again`,
    },
  ]);
  await ran({ lake: root, from: '2025-03-04', to: '2025-03-05', acceptEmpty: true }, { clock });
  expect(await listed(root)).toEqual([]);
});
