import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import promises, { readFile, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  parseConfiguration,
  type Configuration,
  configurationJsonSchema,
} from '../../../src/app/configuration/configuration.js';
import { configuredNames, readConfiguration } from '../../../src/app/configuration/read-configuration.js';
import { settingDefinitions } from '../../../src/app/configuration/setting-definitions.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { Secret } from '../../../src/engine/auth/secret.js';
import { temporaryFolder } from '../lake-run.js';
import { secrets } from '../../engine/auth/token-endpoint.js';

function parsed(text: string | Uint8Array): Configuration {
  return parseConfiguration(Buffer.from(text), 'c.json', '/home/me');
}

function faultOf(text: string | Uint8Array): LedgerlakeError {
  try {
    parsed(text);
  } catch (error) {
    if (error instanceof LedgerlakeError) return error;
    throw error;
  }
  throw new Error('expected a fault, got none');
}

test('a file that was found is no FIFO and no device, which would never end; a link to a file is followed', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'ledgerlake.config.json');
  spawnSync('mkfifo', [path]);
  const fault = { code: 'USAGE', message: expect.stringContaining('got a FIFO or a device') as string };
  await expect(readConfiguration(undefined, {}, folder)).rejects.toMatchObject(fault);
  expect(await configuredNames(undefined, {}, folder)).toEqual([]);
  await promises.unlink(path);
  await symlink('/dev/zero', path);
  await expect(readConfiguration(undefined, {}, folder)).rejects.toMatchObject(fault);
  await promises.unlink(path);
  await writeFile(join(folder, 'real'), '{"settings":{"account":"shop"}}');
  await symlink('real', path);
  expect((await readConfiguration(undefined, {}, folder)).settings.account).toBe('shop');
});

test('a file of many keys is read at once: the lines of keys are counted for a fault only', () => {
  // With the line of each key it would take minutes.
  const names = Array.from({ length: 60_000 }, (_, number) => `"A${number}":"x"`);
  const accounts = parsed(`{"accounts":{"shop":{"secrets":{${names.join(',\n')}}}}}`).accounts;
  expect(Object.keys(accounts.get('shop')?.secrets ?? {})).toHaveLength(60_000);
});

test('everything that there is, at once', () => {
  const settings = {
    lake: 's3://bucket/lake',
    account: 'my-shop',
    from: '2024-01-01',
    rate: 0.5,
    burst: 30,
    marginMinutes: 5,
    tokenLifeMinutes: 3,
    journal: 'journal',
    lookBack: [{ days: 2, everyDays: 0 }],
  };
  const shop = {
    region: 'eu',
    endpoint: 'https://u:p@host/prefix',
    tokenEndpoint: 'https://host/t',
    clientId: 'id',
    clientSecret: { env: 'NAME' },
    refreshToken: { file: 'token' },
  };
  const config = parsed(
    JSON.stringify({ $schema: './x.json', settings, accounts: { 'my-shop': shop, constructor: {} } }),
  );
  expect(config.settings).toEqual(settings);
  expect([...config.accounts.keys()]).toEqual(['my-shop', 'constructor']);
  const { clientId, ...rest } = config.accounts.get('my-shop') ?? {};
  expect(clientId instanceof Secret && clientId.reveal()).toBe('id');
  expect(rest).toEqual({ ...shop, clientId: undefined });
  expect(inspect(config, { depth: 9 })).toContain('[secret]');
});

test('an empty object is a configuration', () => {
  expect(parsed('{}')).toEqual({ file: 'c.json', folder: '/home/me', settings: {}, accounts: new Map() });
});

describe('comments', () => {
  test('of both kinds, anywhere between values, and what looks like one in a text', () => {
    const text = '// ä\n{ /* é\n */ "settings": { "lake": "s3://bucket/*x*/", // "rate": 1,\n "burst" /**/ : 3 } } //';
    expect(parsed(text).settings).toEqual({ lake: 's3://bucket/*x*/', burst: 3 });
  });

  test('wherever they stand, change neither what is read nor where a fault is told', () => {
    const tokens = ['{', '"settings"', ':', '{', '"rate"', ':', '2', ',', '"burst"', ':', '3', '}', '}'];
    const comment = fc.oneof(
      fc.constant(' '),
      fc.string({ unit: 'binary' }).map((words) => `//${words.replaceAll(/[\r\n\u2028\u2029]/g, '')}\n`),
      fc.string({ unit: 'binary' }).map((words) => `/*${words.replaceAll('*/', '')}*/`),
    );
    const between = fc.array(comment, { minLength: tokens.length, maxLength: tokens.length });
    fc.assert(
      fc.property(between, (comments) => {
        const before = tokens.map((token, at) => `${comments[at] ?? ''}${token}`).join('');
        expect(parsed(before).settings).toEqual({ rate: 2, burst: 3 });
        const lines = before.split('\n');
        expect(faultOf(`${before}x`).message).toContain(
          `in line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`,
        );
      }),
    );
  });

  test.each<[string, string]>([
    ['{\n"ä": {} /* }', 'line 2, column 9'],
    ['{} /* never closed', 'line 1, column 4'],
    ['{} /*/', 'line 1, column 4'],
    ['// one\n/* two **', 'line 2, column 1'],
  ])('that never end are refused, as they would hide the rest: %s', (text, place) => {
    expect(faultOf(text).message).toBe(`c.json: expected */ for the comment in ${place}, found the end`);
  });
});

describe('a fault is one line: file, path, expected, came', () => {
  const long = 'x'.repeat(50);
  const account = (text: string): string => `{"accounts":{"a":${text}}}`;
  test.each<[string, string]>([
    ['', 'c.json: expected a value, found the end in line 1, column 1'],
    ['{"a":1,\n  "ä": x}', 'c.json: expected a value, found "x" in line 2, column 8'],
    ['[]', 'c.json: expected an object with `settings` and `accounts`, got a list'],
    [
      '{"setings":{}}',
      'c.json: expected no other keys than $schema, settings, accounts, got "setings"; did you mean settings?',
    ],
    [
      '{"settings":{"token_life_minutes":3}}',
      `c.json: settings: expected no other keys than ${Object.keys(settingDefinitions).join(', ')}, got "token_life_minutes"; did you mean tokenLifeMinutes?`,
    ],
    ['{"settings":{"rate":"fast"}}', 'c.json: settings.rate: expected a number greater than 0, got "fast"'],
    ['{"settings":{"rate":0}}', 'c.json: settings.rate: expected a number greater than 0, got 0'],
    ['{"settings":{"rate":1e999}}', 'c.json: settings.rate: expected a number greater than 0, got Infinity'],
    ['{"settings":{"burst":1.5}}', 'c.json: settings.burst: expected a whole number from 1, got 1.5'],
    [
      '{"settings":{"timeZone":"Berlin"}}',
      'c.json: settings.timeZone: expected the IANA name of a time zone such as Europe/Berlin, got "Berlin"',
    ],
    [
      '{"settings":{"marginMinutes":1}}',
      'c.json: settings.marginMinutes: expected a number of minutes from 2 to 1440, got 1',
    ],
    [
      '{"settings":{"from":"2024-02-30"}}',
      'c.json: settings.from: expected an ISO 8601 date or instant such as "2025-01-31", got "2024-02-30"',
    ],
    [
      '{"settings":{"lookBack":[{"days":2,"everyDays":0},{"days":2}]}}',
      'c.json: settings.lookBack[1].everyDays: expected a number of days from 0, got nothing',
    ],
    ['{"settings":{"lake":""}}', 'c.json: settings.lake: expected a folder or "s3://BUCKET/PREFIX", got an empty text'],
    ['{"accounts":[]}', 'c.json: accounts: expected an object of accounts by name, got a list'],
    [
      '{"accounts":{"../x":{}}}',
      'c.json: accounts: expected a name of 1 to 64 letters, digits, dots, dashes or underscores, and not null, got "../x"',
    ],
    [account('null'), 'c.json: accounts.a: expected an object with the settings of an account, got null'],
    [
      account('{"region":"us"}'),
      'c.json: accounts.a.region: expected one of na, eu, fe, sandbox-na, sandbox-eu, sandbox-fe, got "us"',
    ],
    [
      account('{"client_secret":"x"}'),
      'c.json: accounts.a: expected no other keys than region, endpoint, tokenEndpoint, clientId, clientSecret, refreshToken, secrets, got "client_secret"; did you mean clientSecret?',
    ],
    [
      account('{"clientSecret":12345}'),
      'c.json: accounts.a.clientSecret: expected a text, {"env": "NAME"} or {"file": "PATH"}, got a number',
    ],
    [
      account('{"clientSecret":{"ENV":"x"}}'),
      'c.json: accounts.a.clientSecret: expected a text, {"env": "NAME"} or {"file": "PATH"}, got an object',
    ],
    [
      account(`{"tokenEndpoint":"http://api.amazon.com/auth/o2/token"}`),
      'c.json: accounts.a.tokenEndpoint: expected an address that begins with https://, without user, password, `?` and `#` (http:// on loopback), got a text of 35 characters',
    ],
    [
      account('{"endpoint":"u:p@host"}'),
      'c.json: accounts.a.endpoint: expected a base address such as "https://host" or "http://127.0.0.1:8080/prefix", got a text of 8 characters',
    ],
    [
      account(`{"region":"${long}"}`),
      'c.json: accounts.a.region: expected one of na, eu, fe, sandbox-na, sandbox-eu, sandbox-fe, got a text of 50 characters',
    ],
    ['{"accounts":{"a":{},\n"a":{}}}', 'c.json: expected each key once, got one again in line 2, column 1: remove it'],
    ['{"accounts":{"__proto__":{}}}', 'c.json: expected no key __proto__, got one in line 1'],
  ])('%s', (text, message) => {
    expect(faultOf(text)).toMatchObject({ code: 'USAGE', exitCode: 2, message });
  });

  test('of several faults the others are in the details', () => {
    const fault = faultOf('{"settings":{"rate":0,"burst":0},"acounts":1}');
    expect(fault.message).toBe(
      'c.json: settings.rate: expected a number greater than 0, got 0 (and 2 more: --verbose shows them)',
    );
    expect(fault.details?.split('\n')).toHaveLength(2);
  });
});

describe('whatever the file holds', () => {
  /** Valid or one usage error of one line, which holds no long text of the file. */
  const checked = (bytes: Uint8Array): void => {
    let fault: LedgerlakeError;
    try {
      parsed(bytes);
      return;
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) throw error;
      fault = error;
    }
    expect(fault.code).toBe('USAGE');
    expect(fault.message).toMatch(/^c\.json: [^\n]*expected/);
    const everything = `${inspect(fault, { depth: 9, showHidden: true })} ${fault.details ?? ''}`;
    for (const secret of Object.values(secrets)) expect(everything).not.toContain(secret);
  };

  const word = fc.constantFrom(
    ...['settings', 'accounts', 'my-shop', 'lake', 'rate', 'lookBack', 'days', 'region', 'endpoint', 'tokenEndpoint'],
    ...['clientId', 'clientSecret', 'refreshToken', 'env', 'file', '__proto__', 'constructor', 'toString', ''],
    ...Object.values(secrets),
  );
  const leaf = fc.oneof(word, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.string());
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(word, tie('value')), { maxLength: 4 }).map((pairs) => {
        const members = pairs.map(([key, member]) => [key, member] as const);
        return Object.fromEntries(members);
      }),
    ),
  }));

  test('any JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        checked(Buffer.from(text));
      }),
    );
  });

  test('JSON of the words that count', () => {
    fc.assert(
      fc.property(value, value, value, (settings, account, other) => {
        checked(Buffer.from(JSON.stringify(settings)));
        checked(Buffer.from(JSON.stringify({ settings, accounts: other })));
        checked(Buffer.from(JSON.stringify({ accounts: { 'my-shop': account } })));
        checked(Buffer.from(JSON.stringify({ accounts: { 'my-shop': { clientSecret: other, region: settings } } })));
      }),
      { numRuns: 300 },
    );
  });

  test('any bytes, and a file that is cut off anywhere', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        checked(bytes);
      }),
    );
    const whole = Buffer.from(JSON.stringify({ accounts: { 'my-shop': { ...secrets, region: 'eu' } } }));
    for (let length = 0; length < whole.length; length++) {
      expect(faultOf(whole.subarray(0, length)).code).toBe('USAGE');
      checked(whole.subarray(0, length));
    }
  });
});

describe('which file', () => {
  test('the one that is named, else that of LEDGERLAKE_CONFIG, else the one of the working folder', async () => {
    const folder = await temporaryFolder();
    const file = (lake: string): string => JSON.stringify({ settings: { lake } });
    await writeFile(join(folder, 'named.json'), file('named'));
    await writeFile(join(folder, 'variable.json'), file('variable'));
    const lakeOf = async (named: string | undefined, variable: string): Promise<string | undefined> =>
      (await readConfiguration(named, { LEDGERLAKE_CONFIG: variable }, folder)).settings.lake;
    expect(await lakeOf('named.json', 'variable.json')).toBe('named');
    expect(await lakeOf(undefined, 'variable.json')).toBe('variable');
    expect(await readConfiguration(undefined, {}, folder)).toMatchObject({ file: undefined, folder });
    await writeFile(join(folder, 'ledgerlake.config.json'), file('working folder'));
    expect(await lakeOf(undefined, '')).toBe('working folder');
  });

  test('one that is named must be there', async () => {
    const folder = await temporaryFolder();
    await expect(readConfiguration('none.json', {}, folder)).rejects.toMatchObject({
      code: 'USAGE',
      message:
        `expected the configuration none.json, which --config names, got no such file in ${folder}; check the path, or ` +
        '`ledgerlake init --config none.json` writes one',
    });
    await expect(readConfiguration(undefined, { LEDGERLAKE_CONFIG: 'none.json' }, folder)).rejects.toThrow(
      'none.json, which LEDGERLAKE_CONFIG names, got no such file',
    );
    await expect(readConfiguration(undefined, { LEDGERLAKE_CONFIG: '.' }, folder)).rejects.toThrow(
      'expected a readable configuration in ., which LEDGERLAKE_CONFIG names, got EISDIR',
    );
  });

  test('one that this user may not read is named with its path, and what to do', async () => {
    // Who runs the tests may be permitted everything.
    const fails = vi.spyOn(promises, 'readFile').mockRejectedValue(Object.assign(new Error('no'), { code: 'EACCES' }));
    syncBuiltinESMExports();
    onTestFinished(() => {
      fails.mockRestore();
      syncBuiltinESMExports();
    });
    await expect(readConfiguration('c.json', {}, '/home/other')).rejects.toMatchObject({
      code: 'USAGE',
      message:
        'expected a readable configuration in c.json, which --config names, got no permission to read ' +
        '/home/other/c.json (EACCES); run as its owner, or let this user read it and enter its folders',
    });
  });
});

test('ledgerlake.schema.json is what the code says (npm run schema writes it), and is shipped', async () => {
  const stored: unknown = JSON.parse(await readFile('ledgerlake.schema.json', 'utf8'));
  expect(stored).toEqual(JSON.parse(JSON.stringify(configurationJsonSchema())));
  const { files } = JSON.parse(await readFile('package.json', 'utf8')) as { files: string[] };
  expect(files).toContain('ledgerlake.schema.json');
});
