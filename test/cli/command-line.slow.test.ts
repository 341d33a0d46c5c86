import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtCommand, summaryFields, type Ended } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';

/** A sync goes on from here to now. */
const range = ['--from', new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)];

interface Summary {
  readonly status: string;
  readonly pipelines: Readonly<Record<string, object>>;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The whole of standard output as one object: a text before or after it would be a syntax error. */
function onlyObject(out: string): Summary {
  expect(out.endsWith('}\n')).toBe(true);
  return JSON.parse(out) as Summary;
}

/** A lake of the synthetic seller; a test that changes it takes a copy. */
const shared = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
let loaded: Ended;

beforeAll(async () => {
  loaded = await builtCommand(['backfill', ...range, '--json'], { folder: shared });
});
afterAll(() => rm(shared, { recursive: true }));

async function loadedFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await cp(shared, folder, { recursive: true });
  return folder;
}

describe('--json prints one object and nothing else', () => {
  test('for backfill', () => {
    expect(loaded.code).toBe(0);
    const { status, pipelines } = onlyObject(loaded.out);
    expect(status).toBe('done');
    for (const pipeline of ['financial-event-groups', 'financial-events', 'group-events']) {
      expect(Object.keys(pipelines[pipeline] ?? {})).toEqual(expect.arrayContaining(summaryFields));
    }
  });

  test.each([
    [['sync']],
    [['import', 'pages.ndjson']],
    [['compact']],
    [['rebuild']],
    [['forget', '--account', 'demo', '--before', '2025-01-01', '--yes']],
  ])('for %j', async (words) => {
    const folder = await loadedFolder();
    await writeFile(join(folder, 'pages.ndjson'), '{"payload":{"FinancialEvents":{}}}\n');
    const { code, out } = await builtCommand([...words, '--json'], { folder });
    expect(code).toBe(0);
    expect(onlyObject(out).status).toBe('done');
  });

  test('also of a run that fails, with its error', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'broken.ndjson'), 'no body\n');
    const imported = await builtCommand(['import', 'broken.ndjson', '--json'], { folder });
    expect(imported.code).toBe(1);
    const failed = onlyObject(imported.out);
    expect(failed).toMatchObject({ status: 'failed', account: 'demo', error: { code: 'BROKEN_LINE' } });
    expect(imported.err).toContain(failed.error?.message);
  });

  test('also of a run that fails before it has read anything', async () => {
    const folder = await loadedFolder();
    await writeFile(join(folder, 'data/lake/_catalog/00000000000000000000.json'), 'damaged');
    const stopped = await builtCommand(['sync', '--json'], { folder });
    expect(stopped.code).toBe(1);
    expect(onlyObject(stopped.out)).toMatchObject({
      status: 'failed',
      account: 'demo',
      lake: 'data/lake',
      from: null,
      pipelines: {},
      lag_seconds: null,
      to: expect.any(String) as string,
      seconds: expect.any(Number) as number,
      error: { code: 'LAKE_LOG' },
    });
  });

  test('also where nothing can be written, with the age of the lake and all else that is known', async () => {
    const folder = await loadedFolder();
    await rm(join(folder, 'data/lake/_runs'), { recursive: true, force: true });
    await writeFile(join(folder, 'data/lake/_runs'), 'no folder');
    await writeFile(join(folder, 'pages.ndjson'), '{"payload":{"FinancialEvents":{}}}\n');
    const instant = expect.stringMatching(/^2\d{3}-.*Z$/) as string;
    const run = { account: 'demo', run: null, seconds: expect.any(Number) as number };
    for (const [command, known] of [
      ['backfill --refresh', { ...run, from: instant, to: instant }],
      ['sync', { ...run, from: null, to: instant, lag_seconds: expect.any(Number) as number, lake_begun: false }],
      ['import pages.ndjson', { ...run, from: null, to: null }],
      ['compact', { seconds: run.seconds }],
      ['rebuild', { seconds: run.seconds }],
    ] as const) {
      const { code, out } = await builtCommand([...command.split(' '), '--json', '--quiet'], { folder });
      const error = { code: 'LAKE_STORE', message: expect.any(String) as string };
      const none = { lake: 'data/lake', pipelines: {}, catalog: null };
      const expected = { ...known, ...none, status: 'failed', error };
      expect([command, code, onlyObject(out)]).toEqual([command, 1, expected]);
    }
    const forgotten = await builtCommand(['forget', '--account', 'demo', '--yes', '--json'], { folder });
    expect(onlyObject(forgotten.out)).toMatchObject({
      status: 'failed',
      account: 'demo',
      lake: 'data/lake',
      before: null,
    });
  });

  test('and none for a command line that is wrong', async () => {
    const folder = await temporaryFolder();
    expect(await builtCommand(['backfill', '--from', 'x', '--json'], { folder })).toMatchObject({ code: 2, out: '' });
    expect(await readdir(folder)).toEqual([]);
  });
});

test('queries see the accounts that are named, and no other', async () => {
  const folder = await loadedFolder();
  const query = 'SELECT DISTINCT account FROM groups';
  const seen = await builtCommand(['sql', '--account', 'demo', '--format', 'csv', query], { folder });
  expect(seen).toMatchObject({ code: 0, out: 'account\ndemo\n' });
  for (const words of [
    ['sql', query],
    ['ask', 'payouts'],
  ]) {
    const { code, err } = await builtCommand([...words, '--account', 'demo', '--account', 'other'], { folder });
    expect([words[0], code, err]).toEqual([
      words[0],
      2,
      expect.stringContaining('expected --account to be an account of'),
    ]);
  }
});

test('a command in an error can be pasted as it is, with the lake and the configuration that were given', async () => {
  const folder = await loadedFolder();
  await writeFile(join(folder, 'data/lake/_catalog/00000000000000000000.json'), 'damaged');
  await writeFile(join(folder, 'c.json'), '{}');
  const given = ['--lake', 'data/lake', '--config', 'c.json'];
  for (const words of [['status'], ['verify'], ['sync', '--json'], ['sql', 'FROM events']]) {
    const { code, out, err } = await builtCommand([...words, ...given], { folder });
    expect(code).toBe(1);
    expect(err).toContain(`run \`ledgerlake repair ${given.join(' ')}\`, or restore the file`);
    if (words.includes('--json')) expect(onlyObject(out).error?.message).toContain(`repair ${given.join(' ')}\``);
  }
  const files = await readdir(join(folder, 'data/lake/events'), { recursive: true });
  const [lost = ''] = files.filter((file) => file.endsWith('.parquet') && !file.startsWith('_')).sort();
  await rm(join(folder, 'data/lake/events', lost));
  expect(await builtCommand(['repair', ...given], { folder })).toMatchObject({ code: 1 });
  const repaired = await builtCommand(['repair', ...given, '--yes'], { folder });
  expect(repaired.code).toBe(0);
  expect(repaired.out).toContain(`\`ledgerlake status ${given.join(' ')}\` names the command`);
  const { out } = await builtCommand(['status', ...given], { folder });
  const [, command = ''] = /^ {2}ledgerlake (backfill .*)$/m.exec(out) ?? [];
  expect(command).toContain(' --config c.json ');
  expect(await builtCommand(command.split(' '), { folder })).toMatchObject({ code: 0 });
});

describe('--quiet', () => {
  test.each([
    [['plan', ...range]],
    [['backfill', '--refresh', ...range]],
    [['sync']],
    [['compact']],
    [['status']],
    [['verify']],
    [['report', '-o', 'report.html']],
  ])('prints nothing of %j', async (words) => {
    const folder = await loadedFolder();
    expect(await builtCommand([...words, '--quiet'], { folder })).toMatchObject({ code: 0, out: '', err: '' });
  });

  test('prints what is asked for as data', async () => {
    const run = async (...words: string[]) => {
      const { code, out, err } = await builtCommand([...words, '--quiet'], { folder: shared });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      return out;
    };
    expect(await run('sql', '--format', 'csv', 'SELECT 1 AS one')).toBe('one\n1\n');
    expect(JSON.parse(await run('verify', '--format', 'json'))).toMatchObject({ verdict: 'whole' });
    expect(onlyObject(await run('backfill', ...range, '--json')).status).toBe('done');
  });

  test('prints what verify finds wrong with a lake', async () => {
    const folder = await loadedFolder();
    const files = await readdir(join(folder, 'data/lake/entries'), { recursive: true });
    const file = files.find((path) => path.endsWith('.parquet') && !path.startsWith('_')) ?? '';
    await writeFile(join(folder, 'data/lake/entries', file), 'damaged');
    const { code, out, err } = await builtCommand(['verify', '--quiet'], { folder });
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(/^\nlake file-bytes: /);
    expect(out).toContain(file);
    expect(out).toMatch(/\nNOT WHOLE: data\/lake has .*\n$/);
  });

  test('prints an error', async () => {
    const folder = await temporaryFolder();
    const { code, out, err } = await builtCommand(['status', '--quiet'], { folder });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });
});

test('forget without a terminal and without --yes is refused, and forgets nothing', async () => {
  const folder = shared;
  const counted = () => builtCommand(['sql', '--format', 'csv', 'SELECT count(*) FROM events'], { folder });
  const before = await counted();
  const refused = await builtCommand(['forget', '--account', 'demo'], { folder });
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('expected --yes or a terminal, got neither');
  expect(await counted()).toMatchObject({ code: 0, out: before.out });
});

describe('words of the command line', () => {
  test.each([
    ['behind two dashes', ['sql', '--format', 'csv', '--', 'SELECT 42 AS x']],
    ['behind two dashes, with a dash', ['sql', '--format', 'csv', '--', '-- a comment\nSELECT 42 AS x']],
    ['with a blank, and a dash at its beginning', ['sql', '--format', 'csv', '-- a comment\nSELECT 42 AS x']],
  ])('%s are arguments', async (_where, words) => {
    expect(await builtCommand(words, { folder: shared })).toMatchObject({ code: 0, out: 'x\n42\n' });
  });

  test.each([
    ['compact', ['compact', '--', 'nosuch'], 'got "nosuch"'],
    ['compact, with a dash', ['compact', '--', '--yes'], 'got "--yes"'],
    ['a flag with a value', ['plan', '--refresh=maybe'], 'expected --refresh without a value, got "--refresh=maybe"'],
    ['no name of a file', ['sql', 'SELECT 1', '-o', ''], 'expected a file to write, got an empty name'],
    ['a folder for metrics', ['sync', '--metrics-file', '.'], 'expected --metrics-file to be a file, got the folder .'],
    ['a seed of a lake', ['serve', '--lake', 'data/lake', '--seed', '3'], 'expected --seed only without --lake'],
  ])('that are wrong change nothing: %s', async (_what, words, expected) => {
    const before = await readdir(shared);
    const { code, err } = await builtCommand(words, { folder: shared });
    expect(code).toBe(2);
    expect(err).toContain(expected);
    expect(await readdir(shared)).toEqual(before);
  });

  test('a variable that is wrong is named', async () => {
    const { code, err } = await builtCommand(['plan'], { folder: shared, environment: { LEDGERLAKE_FROM: 'x' } });
    expect(code).toBe(2);
    expect(err).toContain('expected LEDGERLAKE_FROM to be an ISO 8601 date');
  });
});
