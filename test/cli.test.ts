import { events } from '../src/sources/finances/api-v0/event-tables.js';
import { spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { version } from '../src/core/version.js';
import packageJson from '../package.json' with { type: 'json' };
import { withDerived } from '../src/lake/commit-files.js';
import { clockAt, temporaryFolder } from './app/lake-run.js';
import { open } from './app/maintenance/small-lake.js';
import { newFileOf } from './lake/small-table.js';
import { freePort } from './free-port.js';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the built command to its end. */
async function ledgerlake(words: readonly string[], input = ''): Promise<Ended> {
  const child = spawn(process.execPath, ['dist/src/cli.js', ...words], { stdio: 'pipe' });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.on('error', () => undefined).end(input);
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

test('the version is the package’s', async () => {
  expect(version).toBe(packageJson.version);
  for (const word of ['--version', '-v', 'version']) {
    expect(await ledgerlake([word])).toMatchObject({ code: 0, out: `${version}\n` });
  }
});

test('a Node that is too old ends in one sentence, before any import', async () => {
  expect(packageJson.engines.node).toBe('>=20.19');
  const run = async (node: string) => {
    const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`;
    const words = [`--import=data:text/javascript,${encodeURIComponent(versions)}`, 'dist/src/cli.js', '--version'];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (text += part));
    await once(child, 'close');
    return { code: child.exitCode, text };
  };
  for (const old of ['20.18.3', '18.20.0', '6.17.1']) {
    const text = `ledgerlake: USAGE: expected Node 20.19 or newer, got ${old}; install one from https://nodejs.org\n`;
    expect(await run(old)).toEqual({ code: 2, text });
  }
  for (const fit of ['20.19.0', '22.0.0']) expect(await run(fit)).toEqual({ code: 0, text: `${version}\n` });
  // Nothing is imported but by what comes after the check.
  expect(await readFile('dist/src/cli.js', 'utf8')).not.toMatch(/^\s*import |await/m);
});

describe('help', () => {
  test('names every command', async () => {
    const { code, out } = await ledgerlake(['--help']);
    expect(code).toBe(0);
    for (const command of ['backfill', 'sync', 'serve', 'sql']) expect(out).toContain(`ledgerlake ${command}`);
  });

  test('goes to standard error where no command is named, and the exit code is 2', async () => {
    const { out: help } = await ledgerlake(['--help']);
    const { code, out, err } = await ledgerlake([]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(help);
  });

  test.each(['backfill', 'sync', 'serve', 'sql'])('of %s goes to standard output', async (command) => {
    const { code, out, err } = await ledgerlake([command, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('--verbose');
    expect(await ledgerlake(['help', command])).toEqual({ code, out, err });
  });
});

describe('bad input is one line, with the right exit code, and nothing is touched', () => {
  const backfill = (...words: string[]) => ['backfill', '--lake', 'LAKE', ...words];
  const endpoint = ['--endpoint', 'http://127.0.0.1:9', '--account', 'shop'];

  test.each<[string, number, string[], RegExp]>([
    ['no command', 2, ['--verbose=false'], /expected a command, got none; see ledgerlake --help/],
    [
      'an unknown option alone',
      2,
      ['--hlep'],
      /expected an option, got --hlep; did you mean --help\? see ledgerlake --help/,
    ],
    [
      'an option with one dash',
      2,
      backfill('-from', '2025-01-01'),
      /expected an option, got -from; did you mean --from\?/,
    ],
    [
      'no format to export',
      2,
      ['export'],
      /expected `export iceberg`, `export symlinks`, `export views`, `export settlement-report` or `export journal`, got none/,
    ],
    ['an unknown command', 2, ['backfil'], /USAGE: expected a command, got backfil; did you mean backfill\?/],
    [
      'an unknown command before an option',
      2,
      ['backfil', '--api', 'both'],
      /expected a command, got backfil; did you/,
    ],
    [
      'an unknown command behind an option',
      2,
      ['--api', 'both', 'backfil'],
      /expected a command, got backfil; did you/,
    ],
    ['an unknown command of a pipeline', 2, ['backfil', 'payouts'], /expected a command, got backfil; did you/],
    ['a command like no other', 2, ['nonsense'], /USAGE: expected a command, got nonsense; see ledgerlake --help/],
    ['help of an unknown command', 2, ['help', 'vrify'], /got vrify; did you mean verify\?/],
    [
      'an unknown option',
      2,
      backfill('--form', '2025-01-01'),
      /got --form; did you mean --from\? see .* backfill --help/,
    ],
    ['an option cut short', 2, ['report', '--out', 'x'], /got --out; did you mean --output\? see/],
    ['a list of accounts', 2, ['accounts', 'list'], /got `accounts list`; did you mean `accounts`\?/],
    ['an unknown letter', 2, backfill('-x'), /expected an option, got -x; see/],
    ['a format as an option', 2, ['status', '--csv'], /got --csv; did you mean --format csv\? see/],
    [
      'an argument too many',
      2,
      ['status', 'shop'],
      /expected no further argument, got shop; did you mean --account shop or --lake shop\? see ledgerlake status --help/,
    ],
    ['a lake that stands alone', 2, ['verify', 'test'], /got test; did you mean --lake test\? see ledgerlake verify/],
    ['a query without quotes', 2, ['sql', 'SELECT', '1'], /got 1; put the query in quotes; see ledgerlake sql --help/],
    [
      'a file of no format',
      2,
      ['sql', '-o', 'x.pdf', 'SELECT 1'],
      /ends with \.csv, .*or \.xlsx, or an explicit format .*got x\.pdf/,
    ],
    ['a report of no format', 2, ['report', '-o', 'z.pdf'], /--output to end with \.html or \.xlsx, .*got z\.pdf/],
    ['a letter without its value', 2, ['sql', '-o'], /expected a value after -o, got none/],
    ['an option without its value', 2, ['status', '--lake'], /expected a value after --lake, got none/],
    ['an option before another', 2, ['status', '--lake', '--format', 'json'], /expected a value after --lake/],
    [
      'an unknown pipeline',
      2,
      backfill('financial-event'),
      /expected a pipeline \(.*got "financial-event"; did you mean financial-events\?/,
    ],
    ['a table in the place of its pipeline', 2, backfill('entries'), /got "entries"; did you mean financial-events\?/],
    [
      'a range the wrong way round',
      2,
      backfill('--from', '2025-02-01', '--to', '2025-01-01'),
      /--from.*earlier than --to/,
    ],
    ['a date that is none', 2, backfill('--from', '2025-02-30'), /--from.*ISO 8601.*"2025-02-30"/],
    ['an action too many', 2, ['accounts', 'chek'], /got `accounts chek`; did you mean `accounts check`\?$/m],
    ['an account without an endpoint', 2, backfill('--account', 'shop'), /--endpoint/],
    ['an endpoint that is none', 2, backfill('--endpoint', 'localhost', '--account', 'shop'), /the endpoint/],
    ['a look-back that is none', 2, ['sync', '--lake', 'LAKE', '--look-back', 'long'], /--look-back.*"long"/],
    ['a lag that is none', 2, ['sync', '--lake', 'LAKE', '--max-lag', 'short'], /--max-lag.*"short"/],
    ['a rate that is none', 2, backfill('--rate', 'fast'), /--rate/],
    [
      'a file of orders that is missing',
      2,
      backfill('order-events', '--orders', '/no/such/file', ...endpoint),
      /expected a file that can be read, got \/no\/such\/file \(it does not exist\)/,
    ],
    [
      'a file in the place of the lake',
      2,
      ['plan', '--lake', import.meta.filename],
      /expected a lake at .*, got a file/,
    ],
    [
      'a file in the place of the lake of an import',
      2,
      ['import', '--account', 'demo', '--lake', import.meta.filename, import.meta.filename],
      /expected a lake at .*, got a file/,
    ],
    ['a port that is none', 2, ['serve', '--port', 'http'], /--port/],
    [
      'a format that is none',
      2,
      ['sql', '--format', 'jsn', 'SELECT 1'],
      /expected --format to be one of table, vertical, json, .*, got "jsn"; did you mean json\? see ledgerlake sql --help/,
    ],
    [
      'a country in the place of its region',
      2,
      ['init', '--region', 'us', '--config', 'LAKE'],
      /expected --region to be one of na, eu, fe, .*, got "us"; did you mean na\? see ledgerlake init --help/,
    ],
  ])('%s', async (_what, code, words, message) => {
    const folder = await temporaryFolder();
    const ended = await ledgerlake(words.map((word) => (word === 'LAKE' ? join(folder, 'lake') : word)));
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).toMatch(message);
    expect(ended.err.trimEnd().split('\n')).toHaveLength(1);
    expect(await readdir(folder)).toEqual([]);
  });

  test('a malformed order id is named with its line, from a file and from standard input', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'ids');
    const ids = '902-1845936-5435065\n902-1845936-543506\n';
    await writeFile(file, ids);
    const words = ['backfill', 'order-events', '--lake', join(folder, 'lake'), ...endpoint, '--orders'];
    expect((await ledgerlake([...words, file])).err).toMatch(/ids, line 2/);
    const piped = await ledgerlake([...words, '-'], ids);
    expect(piped).toMatchObject({ code: 2, out: '' });
    expect(piped.err).toMatch(/standard input, line 2/);
    expect(await readdir(folder)).toEqual(['ids']);
  });

  test('an endpoint that refuses the connection', async () => {
    const folder = await temporaryFolder();
    const port = await freePort();
    const lake = join(folder, 'lake');
    const ended = await ledgerlake([
      'backfill',
      '--lake',
      lake,
      '--endpoint',
      `http://127.0.0.1:${port}`,
      '--account',
      'shop',
    ]);
    expect(ended.code).toBe(1);
    const lines = ended.err.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('ledgerlake: '))).toHaveLength(1);
    expect(lines.at(-1)).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}.*check the endpoint`));
    expect(ended.err).not.toMatch(/^\s+at /m);
  });

  test('a lake that cannot be written', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    const ended = await ledgerlake(['backfill', '--lake', join(folder, 'file', 'lake')]);
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err.trimEnd().split('\n')).toHaveLength(1);
    expect(ended.err).toContain('file');
  });

  test('of several pipelines each is read, of an option given twice the last', async () => {
    const unknownFirst = await ledgerlake(['backfill', 'nonsense', 'financial-events']);
    expect(unknownFirst).toMatchObject({ code: 2, out: '' });
    expect(unknownFirst.err).toMatch(/expected a pipeline .*got "nonsense"/);
    const twice = await ledgerlake(backfill('--rate', 'first', '--rate', 'last', '--json', '--json'));
    expect(twice).toMatchObject({ code: 2, out: '' });
    expect(twice.err).toMatch(/--rate.*"last"/);
  });

  test('--verbose adds the stack', async () => {
    const ended = await ledgerlake(['backfill', '--from', 'x', '--verbose']);
    expect(ended.err).toMatch(/^\s+at /m);
  });
});

test('a file that is none of events, though its hash is right, ends a command in one line', async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const clock = clockAt('2025-06-01T00:05:00Z');
  const imported = (order: string) => {
    const event = `{"AmazonOrderId":"${order}","PostedDate":"2025-05-03T00:00:00Z","ShipmentItemList":[]}`;
    const page = `{"payload":{"FinancialEvents":{"ShipmentEventList":[${event}]}}}`;
    return ledgerlake(['import', '--lake', lake, '--account', 'shop', '-'], page);
  };
  expect(await imported('order-1')).toMatchObject({ code: 0 });
  const opened = await open(lake, clock);
  const [old] = opened.snapshot.files('events');
  if (old === undefined) throw new Error('expected a file of events');
  const bytes = await readFile(join(lake, old.lakePath));
  bytes.fill(0xff, 4, bytes.length >> 1);
  // Whoever hands over a lake may have computed the hash.
  const { account, month, stats = '{}', rows, shared, loadKeys, net } = old;
  const about = { account, month, stats, rows, shared, loadKeys, net };
  await opened.commitFiles({
    operation: 'WRITE',
    main: events,
    files: [newFileOf(events, bytes, about)],
    replaced: (snapshot) => ({ removed: withDerived(snapshot, [old]) }),
  });
  const { code, err } = await imported('order-2');
  expect([code, err.trimEnd().split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(
        /^ledgerlake: LAKE_STORE: expected \S+ as its commit has it, it can't be read as a file of events/,
      ),
    ],
  ]);
});
