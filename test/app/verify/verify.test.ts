import { resultOf } from '../ended.js';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checks } from '../../../src/app/verify/check-list.js';
import { verify, type VerifyCommand } from '../../../src/app/verify/verify.js';
import { Kept } from '../../core/text/streams.js';
import { addOf } from './damage.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { settlement, smallItems, smallBackend } from './small-backend.js';

let lake: LoadedLake;
let missing: string;
beforeAll(async () => {
  const group = {
    id: 'GROUP-1',
    start: '2025-02-20T00:00:00Z',
    end: '2025-03-06T00:00:00Z',
    beginning: '0',
    total: '1',
  };
  const items = [...smallItems().filter(({ list, group: of }) => list !== '' || of !== 'GROUP-1'), settlement(group)];
  lake = await loadedLake(smallBackend(items));
  missing = `events/${addOf(lake.root, 'events', 'month=2025-03').path}`;
  rmSync(join(lake.root, missing));
});
afterAll(() => {
  lake.remove();
});

async function shown(more: Partial<VerifyCommand> = {}, columns?: number): Promise<{ code: number; text: string }> {
  const output = new Kept(columns);
  const context = { clock: lake.clock, signal: new AbortController().signal, output, emit: () => undefined };
  const { exitCode: code = 0 } = await resultOf(
    verify({ lake: lake.root, format: 'table', strict: false, ...more }, context),
  );
  return { code, text: output.text };
}

test('the certificate has a line for each check, a paragraph for each problem, and the verdict last', async () => {
  const { code, text } = await shown();
  expect(code).toBe(1);
  expect(text).toMatch(/│ file-bytes +│ each file has the size .* │ +12 │ files +│ failed: 1 +│/);
  expect(text).toMatch(/│ group-totals +│ .* │ +1 │ groups +│ finding: 1 +│/);
  expect(text).toContain(
    `\nlake file-bytes: the file is missing\n  events  window/2025-03-01T00:00:00.000Z/2025-03-08T00:00:00.000Z  ${missing}\n`,
  );
  expect(text).toMatch(
    /\nupstream group-totals: net is 218\.710000 USD, .*217\.710000 apart\n  groups {2}group\/GROUP-1 /,
  );
  expect(text).toMatch(/\nCatalog: \d+:[0-9a-f]{64}\n/);
  expect(text.trimEnd().split('\n').at(-1)).toBe(
    `NOT WHOLE: ${lake.root} has 1 problem, 1 finding about the data of the service (12 files, 29 events, 54 amounts, 1 closed group)`,
  );
});

test('a terminal that is too narrow for the table gets two lines for each check, and words are not cut', async () => {
  const { text } = await shown({}, 80);
  expect(text).toContain(
    '\nfailed: 1   file-bytes          12 files\n            each file has the size and SHA-256 of the log',
  );
  for (const line of text.split('\n')) if (!line.includes('/')) expect(line.length, line).toBeLessThanOrEqual(80);
  const words = (of: string) => of.replaceAll(/\s+/g, ' ').trim();
  const wide = (await shown({}, 200)).text;
  expect(wide).toContain('│ each file has the size and SHA-256 of the log');
  expect(words(text)).toContain(words(wide.slice(wide.lastIndexOf('┘') + 1)));
});

test('rows have a line for each problem and for each check without any, in ndjson and csv alike', async () => {
  const ndjson = (await shown({ format: 'ndjson' })).text.trimEnd().split('\n');
  const rows = ndjson.map((line) => JSON.parse(line) as Record<string, string | number | null>);
  expect(rows.filter(({ problem }) => problem !== null)).toMatchObject([
    {
      check: 'file-bytes',
      result: 'failed',
      kind: 'lake',
      table: 'events',
      file: missing,
      problem: 'the file is missing',
    },
    { check: 'group-totals', result: 'finding', kind: 'upstream', table: 'groups', slice: 'group/GROUP-1' },
  ]);
  expect([...new Set(rows.map(({ check }) => check))]).toEqual(checks.map(({ name }) => name));
  const csv = (await shown({ format: 'csv' })).text.trimEnd().split('\n');
  expect(csv[0]).toBe('check,checked,counts,result,kind,table,file,slice,problem');
  expect(csv.slice(1).map((line) => line.split(',')[0])).toEqual(rows.map(({ check }) => check));
});

test('each check is a file of its name, and has a test that names it', () => {
  const names = checks.map(({ name }) => name);
  expect(names.map((name) => `${name}.ts`).toSorted()).toEqual(readdirSync('src/app/verify/checks').toSorted());
  const files = readdirSync('test/app', { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.test.ts'),
  );
  const texts = files.map((path) => readFileSync(join('test/app', path), 'utf8')).join('\n');
  expect(names.filter((name) => !new RegExp(`['"]${name}(['"]| (failed|finding|note)['"])`).test(texts))).toEqual([]);
});

test('an account that the lake does not hold is refused', async () => {
  await expect(shown({ account: 'other' })).rejects.toMatchObject({
    exitCode: 2,
    message: `expected --account to be an account of ${lake.root} (shop), got "other"`,
  });
});

test('of many damaged files three are shown, with one command for all of a folder; JSON has each', async () => {
  const days = ['21', '22', '23', '24', '25'].map((day) => ({ to: `2025-02-${day}`, pipelines: ['financial-events'] }));
  const daily = await loadedLake(smallBackend(), days);
  try {
    for (const table of ['events', 'entries']) {
      const folder = join(daily.root, table, 'account=shop/month=2025-02');
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    }
    const { code, text } = await shown({ lake: daily.root });
    expect(code).toBe(1);
    const json = JSON.parse((await shown({ lake: daily.root, format: 'json' })).text) as {
      problems: { check: string; table: string; command: string | null }[];
    };
    for (const [table, mend] of [
      ['events', /^ledgerlake backfill financial-events .* --from 2025-02-20 --to 2025-02-25 --refresh$/],
      ['entries', /^ledgerlake rebuild --lake /],
    ] as const) {
      const gone = json.problems.filter((of) => of.check === 'file-bytes' && of.table === table);
      expect(gone.length).toBeGreaterThan(3);
      const [command, ...others] = new Set(gone.map((of) => of.command));
      expect(others).toEqual([]);
      expect(command).toMatch(mend);
      expect(text.split(`  ${table}/account=shop/`).length - 1).toBe(3);
      expect(text).toContain(
        `\nlake file-bytes: ${gone.length - 3} more of ${table}, which the same command mends; --format json lists them\n`,
      );
    }
  } finally {
    daily.remove();
  }
});
