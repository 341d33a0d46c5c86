import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { loadDefinitions } from '../../../src/sources/custom/load-definitions.js';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { loaded, shipmentsFrom } from './custom-run.js';
import { parcelServer } from './parcel-server.js';

const good = await readFile('test/sources/custom/pipelines/shipments.mjs', 'utf8');
const taken = { pipelines: ['financial-events'], tables: ['events'] };

/** A folder with these files. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

/** What a folder is refused with; `DIR` stands for its path. */
async function refusal(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await folderWith(files);
  const error: unknown = await loadDefinitions(folder, taken).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'USAGE', exitCode: 2 });
  const message = error instanceof Error ? error.message : '';
  expect(message).not.toContain('\n');
  return message.replaceAll(folder, 'DIR');
}

/** The definition of the docs with something else in the place of a part of it. */
function changed(part: string, other: string): string {
  expect(good).toContain(part);
  return good.replace(part, other);
}

describe('a definition that is wrong is refused in one line that names the file and the field', () => {
  test.each<[string, string, string]>([
    ['no default export', 'export const name = 1;', 'expected the definition as the default export'],
    ['another default', 'export default 7;', 'expected an object with `name`'],
    [
      'it throws while it loads',
      'throw new Error("at the\\nstart");',
      'expected a module that loads, got the error "at the\\nstart"',
    ],
    ['no JavaScript', 'export default {', 'expected a module that loads, got the error'],
    [
      'a field is missing',
      changed('  records: ({ body })', '  other: ({ body })'),
      'records: expected a function, got nothing',
    ],
    [
      'two faults',
      changed('  records: ({ body })', '  wnidows: ({ body })'),
      'records: expected a function, got nothing; expected no other keys than name',
    ],
    ['a field too many', changed('  windows:', '  wnidows:'), 'got "wnidows"; did you mean windows?'],
    [
      'a name of ours',
      changed("name: 'shipments'", "name: 'financial-events'"),
      'name: expected a name other than the names of this program',
    ],
    [
      'a table of ours',
      changed("    name: 'shipments'", "    name: 'events'"),
      'table.name: expected a name other than the names of this program',
    ],
    [
      'a table that is no folder',
      changed("    name: 'shipments'", "    name: '../up'"),
      'table.name: expected a name of small letters',
    ],
    [
      'a table that runs keep notes in',
      changed("    name: 'shipments'", "    name: '_runs'"),
      'table.name: expected a name of small letters',
    ],
    [
      'a type that is none',
      changed("type: 'decimal(12,2)'", "type: 'money'"),
      'table.columns.cost.type: expected one of varchar',
    ],
    [
      'too many digits',
      changed("type: 'decimal(12,2)'", "type: 'decimal(19,2)'"),
      'table.columns.cost.type: expected one of varchar',
    ],
    [
      'a column of ours',
      changed('shipment_id: { type', 'raw: { type'),
      'table.columns: expected a name of small letters, digits and _ other than',
    ],
    [
      'a sort by no column',
      changed("['shipped_at', 'shipment_id']", "['weight']"),
      'table.sort[0]: expected one of shipment_id',
    ],
    [
      'an address that is none',
      changed("{ env: 'PARCELS_URL' }", "'ftp://host'"),
      'api.address: expected a base address',
    ],
    ['a rate of nothing', changed('rate: 2', 'rate: 0'), 'api.quota.rate: expected a number greater than 0, got 0'],
    [
      'too many days',
      changed('days: 7', 'days: 32'),
      'windows.days: expected a whole number of days from 1 to 31, got 32',
    ],
  ])('%s', async (_what, text, expected) => {
    const message = await refusal({ 'mine.mjs': text });
    expect(message).toContain('DIR/mine.mjs: ');
    expect(message).toContain(expected);
  });

  test('a secret in the wrong place is not shown', async () => {
    const text = changed("{ env: 'PARCELS_TOKEN', before: 'Bearer ' }", "{ value: 'hunter2' }");
    expect(await refusal({ 'mine.js': text })).not.toContain('hunter2');
  });

  test('two of one name, two of one table, none at all, no folder', async () => {
    const other = changed("name: 'shipments'", "name: 'parcels'");
    expect(await refusal({ 'a.mjs': good, 'b.mjs': good })).toContain(
      'DIR/b.mjs: name: expected a name other than in DIR/a.mjs',
    );
    expect(await refusal({ 'a.mjs': good, 'b.mjs': other })).toContain('DIR/b.mjs: table.name: expected a name other');
    expect(await refusal({ 'types.d.ts': '' })).toContain('expected definitions of pipelines');
    await expect(loadDefinitions('/no/such/folder', taken)).rejects.toThrow('got /no/such/folder (it does not exist)');
  });

  test('TypeScript runs where Node runs it, and is refused with a way out where it doesn’t', async () => {
    const folder = await folderWith({
      'shipments.ts': await readFile('test/sources/custom/typescript/shipments.ts', 'utf8'),
    });
    const loading = loadDefinitions(folder, taken);
    if ('typescript' in process.features && process.features.typescript !== false) {
      expect((await loading).map(({ definition }) => definition.name)).toEqual(['shipments']);
      return;
    }
    const told = messageOf(await loading.catch((error: unknown) => error));
    expect(told).toMatch(/shipments\.ts: expected Node 22\.18 or later/);
    // What it says to do is done.
    const [, words = ''] = /\(npx --yes -p typescript@5 tsc (.*)\) and name the output folder/.exec(told) ?? [];
    const compiler = resolve('node_modules/typescript/bin/tsc');
    // It finds no types here, and says so.
    spawnSync(process.execPath, [compiler, ...words.split(' ')], { cwd: folder });
    const [compiled] = await loadDefinitions(join(folder, 'built'), taken);
    expect(compiled?.definition.name).toBe('shipments');
  });
});

test('a definition that its package says is no module is refused with a name that it loads under', async () => {
  const folder = await folderWith({ 'package.json': '{"type":"commonjs"}', 'shipments.js': good });
  const words = ['plan', 'shipments', '--pipelines', folder, '--account', 'depot'];
  const { code, err } = await builtCommand(words, { folder: await temporaryFolder() });
  expect([code, err]).toEqual([2, expect.stringMatching(/; name it \S+shipments\.mjs, as its package\.json says/)]);
});

test('a definition with a fault of syntax is refused with what shows its line', async () => {
  const folder = await folderWith({ 'mine.mjs': 'export default {\n  name: a b\n};\n' });
  const words = ['plan', 'mine', '--pipelines', folder, '--account', 'depot'];
  const { code, err } = await builtCommand(words, { folder: await temporaryFolder() });
  expect([code, err]).toEqual([2, expect.stringMatching(/; `node \S+mine\.mjs` shows the line$/m)]);
});

test('the command exits with 2 and touches nothing', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'mine'));
  await writeFile(join(folder, 'mine/shipments.mjs'), good);
  const words = ['backfill', 'shipments', '--pipelines', 'mine', '--lake', 'lake'];
  const account = ['--account', 'depot'];
  const environment = { PARCELS_URL: 'http://127.0.0.1:9' };
  for (const [more, expected] of [
    [[...words], /^ledgerlake: USAGE: expected --account with custom pipelines/],
    [
      [...words, ...account],
      /^ledgerlake: USAGE: mine\/shipments\.mjs: api\.headers\.authorization: expected the environment variable PARCELS_TOKEN/,
    ],
    [
      ['backfill', 'shipmets', ...words.slice(2)],
      /^ledgerlake: USAGE: expected a pipeline \(.*, shipments\), got "shipmets"/,
    ],
    [
      ['backfill', 'returns', ...words.slice(2)],
      /^ledgerlake: USAGE: expected a pipeline \(.*, shipments\), got "returns"; no file of mine defines it$/,
    ],
    [
      ['plan', 'shipmets', ...words.slice(2), ...account],
      /^ledgerlake: USAGE: expected a pipeline \(.*, shipments\), got "shipmets"; did you mean shipments\?$/,
    ],
  ] as const) {
    const ended = await builtCommand(more, { folder, environment });
    expect([ended.code, ended.err.trimEnd().split('\n')]).toEqual([2, [expect.stringMatching(expected)]]);
  }
  expect(await readdir(folder)).toEqual(['mine']);
});

test('a definition whose table has changed is refused by the lake that holds it', async () => {
  const lake = await temporaryFolder();
  const server = await parcelServer([]);
  const own = shipmentsFrom(server);
  const range = { lake, from: '2025-01-20', to: '2025-01-27' };
  await loaded(own, range);
  const { table } = own.loaded.definition;
  const { carrier, ...columns } = table.columns;
  expect(carrier).toBeDefined();
  for (const [other, expected] of [
    [
      { ...table, columns: { ...table.columns, cost: { type: 'bigint' as const } } },
      'the column cost as DECIMAL(12,2), got BIGINT',
    ],
    [{ ...table, columns }, 'the column carrier as VARCHAR, got none'],
    [{ ...table, sort: ['carrier'] }, 'sort to be [shipped_at, shipment_id], got [carrier]'],
    [{ ...table, name: 'parcels' }, 'expected shipments, which shipments fills'],
  ] as const) {
    await expect(loaded(shipmentsFrom(server, { table: other }), range)).rejects.toThrow(expected);
  }
  await expect(loaded(shipmentsFrom(server, { name: 'parcels' }), range)).rejects.toThrow('which shipments fills');
});
