import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nearestRegion } from '../../../src/app/configuration/account.js';
import { init, commentedConfiguration } from '../../../src/app/accounts/configuration-template.js';
import {
  parseConfiguration,
  type Configuration,
  configurationJsonSchema,
} from '../../../src/app/configuration/configuration.js';
import { defaultApi } from '../../../src/sources/finances/api-names.js';
import { eventLimits } from '../../../src/sources/finances/api-v0/operations.js';
import { resolveSettings } from '../../../src/app/configuration/settings.js';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';
import { hasTerminal, onTerminal } from '../terminal.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const text = commentedConfiguration({ account: 'my-shop', region: 'eu' });
/** A line that is commented out: it looks like a member. */
const off = /^( *)\/\/ ("[A-Za-z]+": .*)$/;

function parsed(configuration: string): Configuration {
  return parseConfiguration(Buffer.from(configuration), 'c.json', '/home/me');
}

test('it says that commands no longer read the lake of the synthetic seller, where there is one', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'data/lake'), { recursive: true });
  const { out } = await builtCommand(['init', '--account', 'acme'], { folder });
  expect(out).toMatch(/^Commands now use the lake data\/acme; --lake data\/lake is the previous one\.$/m);
});

test('the next steps call the program as it was started', async () => {
  const byNpx = { npm_command: 'exec', npm_lifecycle_script: 'ledgerlake' };
  for (const [environment, program] of [
    [{}, 'ledgerlake'],
    [byNpx, 'npx ledgerlake'],
  ] as const) {
    const folder = await temporaryFolder();
    const { out } = await builtCommand(['init', '--config', 'my config.json'], { folder, environment });
    const commands = ['accounts check', 'plan --probe', 'backfill'].map((words) => `${program} ${words}`);
    expect(out.match(/^ {2}[2-4]\. .*$/gm)).toEqual(
      commands.map((command, at) => `  ${at + 2}. ${command} --config 'my config.json'`),
    );
    const run = { folder: await temporaryFolder(), environment };
    const pipeline = await builtCommand(['init', 'pipeline', 'shipments', '--pipelines', 'mine'], run);
    expect(pipeline.out).toContain(`  4. ${program} backfill shipments --pipelines mine --account my-shop\n`);
    const from = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
    const loaded = await builtCommand(['backfill', 'financial-events', '--lake', 'lake', '--from', from], run);
    expect(loaded.out).toContain(`\n  ${program} report --lake lake\n`);
  }
});

test('a wrong date, lag or file is reported before credentials that are missing', async () => {
  const folder = await temporaryFolder();
  expect((await builtCommand(['init'], { folder })).code).toBe(0);
  for (const [words, expected] of [
    [['backfill', '--from', '2025-13-01'], /expected --from to be an ISO 8601 date/],
    [['backfill', '--from', '2025-02-01', '--to', '2025-01-01'], /expected --from to be earlier than --to/],
    [['backfill', '--orders', 'none.txt'], /expected a file that can be read, got none\.txt/],
    [['plan', '--probe', '--to', 'soon'], /expected --to to be an ISO 8601 date/],
    [['sync', '--max-lag', 'soon'], /expected --max-lag to be a duration/],
    [['sync', '--max-lag', '1m'], /longer than the margin of 5 minutes/],
    [['sync', '--look-back', 'x'], /expected --look-back to be/],
    [['sync'], /expected `clientId`/],
    [['backfill', '--account', 'demo'], /expected --lake with --account demo, got \S+my-shop, the lake of the conf/],
  ] as const) {
    const { code, err } = await builtCommand(words, { folder });
    expect([code, err]).toEqual([2, expect.stringMatching(expected)]);
  }
});

test('what it writes is taken by every command, and never overwritten', async () => {
  const folder = await temporaryFolder();
  const environment = {
    HOME: folder,
    LEDGERLAKE_CLIENT_ID_ACME_2: 'id',
    LEDGERLAKE_CLIENT_SECRET_ACME_2: 'hush',
    LEDGERLAKE_REFRESH_TOKEN_ACME_2: 'hush',
  };
  const run = (...words: string[]) => builtCommand(words, { folder, environment });
  const written = await run('init', '--account', 'acme-2', '--region', 'na');
  expect(written).toMatchObject({ code: 0, err: '' });
  for (const next of [...Object.keys(environment).slice(1), 'accounts check', 'plan', 'backfill']) {
    expect(written.out).toContain(next);
  }
  expect(await readdir(folder)).toEqual(['ledgerlake.config.json']);

  expect(written.out).not.toContain('data/lake');

  const before = await readFile(join(folder, 'ledgerlake.config.json'), 'utf8');
  const again = await run('init');
  expect(again).toMatchObject({ code: 2, out: '' });
  expect(again.err).toMatch(
    /^ledgerlake: USAGE: expected no file ledgerlake\.config\.json, got an existing one, .*add a further account with --account NAME, or name another --config\n$/,
  );
  expect(await readFile(join(folder, 'ledgerlake.config.json'), 'utf8')).toBe(before);

  const listed = await run('accounts', '--format', 'json');
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(listed.out)).toMatchObject([
    { account: 'acme-2', region: 'na', client_secret: 'LEDGERLAKE_CLIENT_SECRET_ACME_2' },
  ]);
  expect(await run('plan', 'financial-events')).toMatchObject({ code: 0 });
  // There is no lake yet: that, and not the configuration, is what they say.
  for (const command of ['status', 'verify', 'sql']) {
    const ended = await run(command);
    expect(ended.err).not.toContain('config');
    expect(ended.err).toContain('data/acme-2');
  }
});

test.each([
  ['a project that has the package', 'node_modules/ledgerlake/ledgerlake.schema.json'],
  ['a checkout', 'ledgerlake.schema.json'],
  ['any other folder', undefined],
])('names the JSON Schema that an editor finds in %s', async (_what, path) => {
  const folder = await temporaryFolder();
  if (path !== undefined) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile('ledgerlake.schema.json', join(folder, path));
  }
  const file = join(folder, 'c.json');
  await init({ file, account: 'a', region: 'eu' }, { print: () => undefined, emit: () => undefined });
  const [, named] = /"\$schema": "(.*)"/.exec(await readFile(file, 'utf8')) ?? [];
  expect(named && resolve(folder, named)).toBe(path && join(folder, path));
});

test('a name or a region that is none writes nothing', async () => {
  const folder = await temporaryFolder();
  for (const words of [
    ['--account', '../x'],
    ['--region', 'us'],
    ['--config', 'no/such/folder/c.json'],
  ]) {
    const ended = await builtCommand(['init', ...words], { folder });
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err.trimEnd().split('\n')).toHaveLength(1);
  }
  expect(await readdir(folder)).toEqual([]);
});

test('asks where there is somebody, and keeps to the example where there is no answer', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'c.json');
  const questions: string[] = [];
  const answers = [' north \n', ''];
  const ask = (question: string) => {
    questions.push(question);
    return Promise.resolve(answers.shift());
  };
  await init({ file, account: undefined, region: undefined, ask }, { print: () => undefined, emit: () => undefined });
  expect(questions).toEqual([
    'Name of the account [my-shop]: ',
    'Region (na, eu, fe, sandbox-na, sandbox-eu, sandbox-fe) [eu]: ',
  ]);
  expect(await readFile(file, 'utf8')).toBe(commentedConfiguration({ account: 'north', region: 'eu' }));
  // Of a file that is there it asks for a further account, again where that has the name of another.
  answers.push('north', 'south', 'na');
  const logged: string[] = [];
  const emit = plainLog((line) => logged.push(line));
  await init({ file, account: undefined, region: undefined, ask }, { print: () => undefined, emit });
  expect(questions.slice(2, 4)).toEqual(Array(2).fill(`Name of the account to add to ${file} [my-shop]: `));
  expect(logged).toEqual([expect.stringContaining('got north, which it has')]);
  expect([...parsed(await readFile(file, 'utf8')).accounts.keys()]).toEqual(['north', 'south']);
  await writeFile(file, 'mine');
  await expect(
    init({ file, account: undefined, region: 'eu' }, { print: () => undefined, emit: () => undefined }),
  ).rejects.toThrow(/got an existing one/);
});

test.each([
  ['us', 'na'],
  ['Germany', undefined],
  ['DE', 'eu'],
  ['us-west-2', 'fe'],
  ['EU', 'eu'],
  ['sandbox na', 'sandbox-na'],
])('takes the region %s for %s', (text, region) => {
  expect(nearestRegion(text)).toBe(region);
});

test('asks again where an answer is refused', async () => {
  const file = join(await temporaryFolder(), 'c.json');
  const logged: string[] = [];
  const answers = ['my shop', 'north', 'uk', 'eu'];
  const ask = () => Promise.resolve(answers.shift());
  const context = { print: () => undefined, emit: plainLog((line) => logged.push(line)) };
  await init({ file, account: undefined, region: undefined, ask }, context);
  expect(logged).toEqual([
    expect.stringMatching(/^expected --account .*, got "my shop"; choose another name$/),
    expect.stringMatching(/^expected a region .*, got "uk"; did you mean eu\?$/),
  ]);
  expect(await readFile(file, 'utf8')).toBe(commentedConfiguration({ account: 'north', region: 'eu' }));
});

/** The keys of an object in the schema. */
interface Keys {
  readonly properties: Record<string, unknown>;
}

test('each line that is commented out is valid once it isn’t, alone and all together', () => {
  const lines = text.split('\n');
  const switchedOn = (which: (line: string) => boolean): Configuration =>
    parsed(lines.map((line) => (which(line) ? line.replace(off, '$1$2') : line)).join('\n'));
  const commented = lines.filter((line) => off.test(line));
  expect(commented.length).toBeGreaterThan(8);
  for (const line of commented) expect(() => switchedOn((other) => other === line)).not.toThrow();

  const all = switchedOn(() => true);
  const { properties } = configurationJsonSchema() as {
    properties: { settings: Keys; accounts: { additionalProperties: Keys } };
  };
  const keysOf = (object: object): string[] => Object.keys(object).toSorted();
  expect(keysOf(all.settings)).toEqual(keysOf(properties.settings.properties));
  expect(keysOf(all.accounts.get('my-shop') ?? {})).toEqual(
    keysOf(properties.accounts.additionalProperties.properties),
  );
});

test('what is commented out stands at its default', () => {
  const uncommented = parsed(
    text
      .split('\n')
      .map((line) => line.replace(off, '$1$2'))
      .join('\n'),
  );
  const { rate, marginMinutes, tokenLifeMinutes, lookBack } = resolveSettings({}, {}, parsed(text));
  // Left out, each API has its own burst: this is v0's.
  const { burst } = eventLimits;
  expect(uncommented.settings).toMatchObject({
    rate,
    burst,
    marginMinutes,
    tokenLifeMinutes,
    api: defaultApi,
    lookBack,
  });
});

describe.runIf(hasTerminal)('on a terminal', () => {
  test('asks for name and region; Ctrl-C leaves no file', async () => {
    const folder = await temporaryFolder();
    const stopped = onTerminal(['init'], { folder });
    await stopped.shows(/Name of the account/);
    stopped.type('\x03');
    expect(await stopped.ended()).toBe(1);
    expect(await readdir(folder)).toEqual([]);

    const answered = onTerminal(['init'], { folder });
    await answered.shows(/Name of the account/);
    answered.type('north\n');
    await answered.shows(/Region \(na/);
    answered.type('fe\n');
    expect(await answered.ended()).toBe(0);
    expect(await readFile(join(folder, 'ledgerlake.config.json'), 'utf8')).toBe(
      commentedConfiguration({ account: 'north', region: 'fe' }),
    );
  });
});
