import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseConfiguration, type Configuration } from '../../../src/app/configuration/configuration.js';
import type { Environment } from '../../../src/core/environment.js';
import {
  accountEnvironment,
  resolveAccount,
  type AccountChoice,
  type ResolvedAccount,
} from '../../../src/app/configuration/resolve-account.js';
import { readApiAddress } from '../../../src/sources/custom/custom-address.js';
import { Secret } from '../../../src/engine/auth/secret.js';
import { readCustomAccount } from '../../../src/app/configuration/account.js';
import { backfill } from '../../../src/index.js';
import { temporaryFolder } from '../lake-run.js';

const amazon = 'https://api.amazon.com/auth/o2/token';
const three = { clientId: 'id', clientSecret: 'cs', refreshToken: 'rt' };
const variables = {
  LEDGERLAKE_CLIENT_ID: 'env-id',
  LEDGERLAKE_CLIENT_SECRET: 'env-cs',
  LEDGERLAKE_REFRESH_TOKEN: 'env-rt',
};

function configured(value: object, folder = '/nowhere'): Configuration {
  return parseConfiguration(Buffer.from(JSON.stringify(value)), 'c.json', folder);
}

const none = configured({});

function resolved(config: Configuration, environment: Environment = {}, given: Partial<AccountChoice> = {}) {
  return resolveAccount(config, environment, { account: undefined, endpoint: undefined, ...given });
}

/** Secrets in the open, to compare them. */
function revealed({ account, endpoint, signIn }: ResolvedAccount): object {
  const { clientId, clientSecret, refreshToken, tokenEndpoint } = signIn ?? {};
  const texts = [clientId, clientSecret, refreshToken].map((secret) => secret?.reveal());
  return { account, endpoint, signIn: signIn === undefined ? undefined : [...texts, tokenEndpoint] };
}

describe('without a configuration', () => {
  test('the embedded service serves demo', async () => {
    expect(await resolved(none)).toEqual({ account: 'demo', endpoint: undefined, signIn: undefined });
    expect(await resolved(none, {}, { account: 'demo' })).toMatchObject({ account: 'demo', endpoint: undefined });
  });

  test('account and endpoint of the command line are taken as they are', async () => {
    const given = { account: 'shop', endpoint: 'http://example.com' };
    expect(await resolved(none, {}, given)).toEqual({ ...given, signIn: undefined });
  });

  test('an account without an endpoint, and the other way round, are refused', async () => {
    await expect(resolved({ ...none, file: undefined }, {}, { account: 'shop' })).rejects.toThrow(
      /expected an endpoint for the account shop, but there is no ledgerlake\.config\.json in \/\S*; name its .*`ledgerlake init --account shop`/,
    );
    await expect(resolved(none, {}, { account: 'shop' })).rejects.toThrow(
      /expected an endpoint for the account shop, but \S+ configures none; /,
    );
    await expect(resolved(none, {}, { endpoint: 'http://x' })).rejects.toThrow(/expected --account with --endpoint/);
  });
});

describe('an account of the file', () => {
  const config = configured({
    accounts: {
      'my-shop': { region: 'eu', ...three },
      other: { endpoint: 'https://h/p', tokenEndpoint: 'https://t/t', ...three },
    },
  });

  test.each([
    ['na', 'https://sellingpartnerapi-na.amazon.com'],
    ['eu', 'https://sellingpartnerapi-eu.amazon.com'],
    ['fe', 'https://sellingpartnerapi-fe.amazon.com'],
    ['sandbox-na', 'https://sandbox.sellingpartnerapi-na.amazon.com'],
    ['sandbox-eu', 'https://sandbox.sellingpartnerapi-eu.amazon.com'],
    ['sandbox-fe', 'https://sandbox.sellingpartnerapi-fe.amazon.com'],
  ])('region %s is %s', async (region, endpoint) => {
    const one = configured({ accounts: { a: { region, ...three } } });
    expect(revealed(await resolved(one))).toEqual({ account: 'a', endpoint, signIn: ['id', 'cs', 'rt', amazon] });
  });

  test('its own endpoints are taken, and that of the command line goes before them', async () => {
    const own = { account: 'other', endpoint: 'https://h/p', signIn: ['id', 'cs', 'rt', 'https://t/t'] };
    expect(revealed(await resolved(config, {}, { account: 'other' }))).toEqual(own);
    const given = { account: 'other', endpoint: 'http://127.0.0.1:8080' };
    expect(revealed(await resolved(config, {}, given))).toEqual({ ...own, ...given });
  });

  test('of several one must be named: by option, variable or setting', async () => {
    await expect(resolved(config)).rejects.toThrow(
      /expected --account to name an account of c\.json \(my-shop, other\), got none$/,
    );
    expect(await resolved(config, { LEDGERLAKE_ACCOUNT: 'other' })).toMatchObject({ account: 'other' });
    const preset = { ...config, settings: { account: 'my-shop' } };
    expect(await resolved(preset)).toMatchObject({ account: 'my-shop' });
    expect(await resolved(preset, { LEDGERLAKE_ACCOUNT: 'other' })).toMatchObject({ account: 'other' });
    expect(await resolved(preset, { LEDGERLAKE_ACCOUNT: 'other' }, { account: 'demo' })).toEqual({
      account: 'demo',
      endpoint: undefined,
      signIn: undefined,
    });
  });

  test('one that is mistyped is refused with the one that was meant', async () => {
    await expect(resolved(config, {}, { account: 'my-shp' })).rejects.toThrow(
      'expected --account to be one of c.json (my-shop, other), got "my-shp"; did you mean my-shop?',
    );
  });

  test('a real region needs all three secrets, an endpoint of one’s own none', async () => {
    const of = (account: object) => resolved(configured({ accounts: { a: account } }));
    await expect(of({ region: 'na' })).rejects.toThrow(/clientId and clientSecret and refreshToken are missing/);
    await expect(of({ region: 'na', clientId: 'id', clientSecret: 'cs' })).rejects.toThrow(
      /refreshToken is missing; set it in c.json, or LEDGERLAKE_REFRESH_TOKEN_A$/,
    );
    await expect(of({ endpoint: 'https://h', refreshToken: 'rt' })).rejects.toThrow(/clientId and clientSecret are/);
    await expect(of({ ...three })).rejects.toThrow(/expected `region` or `endpoint` for the account a/);
    expect(await of({ endpoint: 'http://h' })).toEqual({
      isEndpointConfigured: true,
      account: 'a',
      endpoint: 'http://h',
      signIn: undefined,
    });
  });

  test('access tokens don’t cross the network in the clear', async () => {
    const of = (endpoint: string) => resolved(configured({ accounts: { a: { endpoint, ...three } } }));
    await expect(of('http://example.com')).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    expect(await of('http://127.0.0.1:1')).toMatchObject({ endpoint: 'http://127.0.0.1:1' });
    await expect(resolved(config, {}, { account: 'other', endpoint: 'http://h' })).rejects.toThrow(/in the clear/);
  });

  test('secrets come from variables and files, seen from the folder of the configuration', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'token'), '  from-file\r\n');
    await writeFile(join(folder, 'empty'), '\n');
    const of = (refreshToken: object, environment = {}) =>
      resolved(configured({ accounts: { a: { region: 'na', ...three, refreshToken } } }, folder), environment);
    expect(revealed(await of({ file: 'token' }))).toMatchObject({ signIn: ['id', 'cs', 'from-file', amazon] });
    expect(revealed(await of({ env: 'T' }, { T: 'from-env' }))).toMatchObject({
      signIn: ['id', 'cs', 'from-env', amazon],
    });
    await expect(of({ env: 'T' })).rejects.toThrow(
      'expected `refreshToken` of the account a in the environment variable T, which is not set; set it',
    );
    const unset = {
      a: { region: 'na', clientId: { env: 'I' }, clientSecret: { env: 'S' }, refreshToken: { env: 'T' } },
    };
    await expect(resolved(configured({ accounts: unset }, folder), { S: 'set' })).rejects.toThrow(
      'expected `clientId`, `refreshToken` of the account a in the environment variables I, T, which are not set; set them',
    );
    await expect(of({ file: 'none' })).rejects.toThrow(
      `in the file ${join(folder, 'none')}, which can't be read (ENOENT); check the path, which is relative to the folder of`,
    );
    await expect(of({ file: '/nowhere/none' })).rejects.toThrow(
      /in the file \/nowhere\/none, which can't be read \(ENOENT\); check the path$/,
    );
    await expect(of({ file: 'empty' })).rejects.toThrow(/which is empty/);
  });
});

describe('variables', () => {
  const environment = { ...variables, LEDGERLAKE_REGION: 'fe', LEDGERLAKE_ACCOUNT: 'shop' };
  const endpoint = 'https://sellingpartnerapi-fe.amazon.com';

  test('set up one account by themselves', async () => {
    const signIn = ['env-id', 'env-cs', 'env-rt', amazon];
    expect(revealed(await resolved(none, environment))).toEqual({ account: 'shop', endpoint, signIn });
    const other = {
      ...environment,
      LEDGERLAKE_TOKEN_ENDPOINT: 'http://127.0.0.1:1/t',
      LEDGERLAKE_ENDPOINT: 'https://h',
    };
    expect(revealed(await resolved(none, other))).toEqual({
      account: 'shop',
      endpoint: 'https://h',
      signIn: ['env-id', 'env-cs', 'env-rt', 'http://127.0.0.1:1/t'],
    });
  });

  test('without a name they are nobody’s', async () => {
    await expect(resolved(none, variables)).rejects.toThrow(
      /expected --account or LEDGERLAKE_ACCOUNT with LEDGERLAKE_CLIENT_ID/,
    );
  });

  test('go before the file; those with the account’s name go before the bare ones', async () => {
    const config = configured({ accounts: { 'my-shop': { endpoint: 'https://file', ...three } } });
    const bare = { ...variables, LEDGERLAKE_REGION: 'fe' };
    expect(revealed(await resolved(config, bare))).toMatchObject({
      endpoint,
      signIn: ['env-id', 'env-cs', 'env-rt', amazon],
    });
    const own = { ...bare, LEDGERLAKE_REGION_MY_SHOP: 'na', LEDGERLAKE_CLIENT_ID_MY_SHOP: 'own-id' };
    expect(revealed(await resolved(config, own))).toMatchObject({
      endpoint: 'https://sellingpartnerapi-na.amazon.com',
      signIn: ['own-id', 'env-cs', 'env-rt', amazon],
    });
  });

  test('bare ones never reach another account, nor the synthetic seller', async () => {
    const two = configured({ accounts: { a: { region: 'na', ...three }, b: { region: 'na', ...three } } });
    expect(revealed(await resolved(two, variables, { account: 'a' }))).toMatchObject({
      signIn: ['id', 'cs', 'rt', amazon],
    });
    const given = { account: 'elsewhere', endpoint: 'https://h' };
    expect(await resolved(none, environment, given)).toEqual({ ...given, signIn: undefined });
    const demo = { account: 'demo', endpoint: undefined, signIn: undefined };
    expect(await resolved(none, { ...variables, LEDGERLAKE_REGION: 'fe' }, { account: 'demo' })).toEqual(demo);
  });

  test('that two accounts would share are refused', async () => {
    const two = configured({ accounts: { 'a-b': { region: 'na', ...three }, 'a.b': { region: 'na', ...three } } });
    await expect(resolved(two, { LEDGERLAKE_REGION_A_B: 'eu' }, { account: 'a-b' })).rejects.toThrow(
      /expected variables that only one account reads, got LEDGERLAKE_REGION_A_B for a-b and a\.b/,
    );
    expect(await resolved(two, {}, { account: 'a-b' })).toMatchObject({ account: 'a-b' });
  });

  test.each([
    ['LEDGERLAKE_REGION', 'us-secret'],
    ['LEDGERLAKE_ENDPOINT', 'ftp://u:us-secret@h'],
    ['LEDGERLAKE_TOKEN_ENDPOINT', 'http://us-secret.example.com/t'],
  ])('%s=%s is refused, and its text is not shown', async (name, text) => {
    const failure = resolved(none, { ...environment, [name]: text });
    await expect(failure).rejects.toMatchObject({ code: 'USAGE' });
    await expect(failure).rejects.toThrow(new RegExp(`^expected ${name} to be (?!.*us-secret)`));
  });
});

describe('credentials that a program gives', () => {
  const given = (tokenEndpoint?: string) => ({
    clientId: new Secret('given-id'),
    clientSecret: new Secret('given-cs'),
    refreshToken: new Secret('given-rt'),
    tokenEndpoint,
  });
  const shop = { account: 'shop', endpoint: 'https://h' };

  test('go before those of the file and of the environment', async () => {
    const file = configured({
      accounts: { shop: { region: 'eu', tokenEndpoint: 'https://file.example/t', ...three } },
    });
    const signIn = ['given-id', 'given-cs', 'given-rt'];
    for (const config of [file, none]) {
      const found = revealed(
        await resolved(config, variables, { ...shop, credentials: given('https://given.example/t') }),
      );
      expect(found).toMatchObject({ ...shop, signIn: [...signIn, 'https://given.example/t'] });
    }
    const withoutAddress = revealed(await resolved(file, variables, { ...shop, credentials: given() }));
    expect(withoutAddress).toMatchObject({ signIn: [...signIn, 'https://file.example/t'] });
    expect(revealed(await resolved(none, {}, { ...shop, credentials: given() }))).toMatchObject({
      signIn: [...signIn, amazon],
    });
  });

  test('are not sent in the clear, nor to an address of a file that only lay there', async () => {
    const there = { accounts: { shop: { region: 'eu', tokenEndpoint: 'https://collect.example/t' } } };
    const found = { ...configured(there), isDiscovered: true };
    const refused = [
      resolved(found, {}, { account: 'shop', endpoint: undefined, credentials: given() }),
      resolved(none, {}, { account: 'shop', endpoint: 'http://h', credentials: given() }),
      resolved(none, {}, { ...shop, credentials: given('http://h/t') }),
      resolved(none, {}, { account: 'shop', credentials: given() }),
      resolved(none, {}, { credentials: given() }),
    ];
    for (const each of refused) {
      await expect(each).rejects.toMatchObject({ code: 'USAGE' });
      await expect(each).rejects.not.toThrow(/given-/);
    }
    const own = { account: 'shop', credentials: given('https://given.example/t') };
    expect((await resolved(found, {}, own)).signIn).toBeDefined();
  });
});

describe('secrets of the environment', () => {
  const found = (account: object): Configuration => ({
    ...configured({ accounts: { shop: account } }),
    isDiscovered: true,
  });
  const own = Object.fromEntries(Object.entries(variables).map(([name, value]) => [`${name}_SHOP`, value]));
  const fromVariables = {
    clientId: { env: 'MY_ID' },
    clientSecret: { env: 'MY_SECRET' },
    refreshToken: { env: 'MY_TOKEN' },
  };
  const mine = { MY_ID: 'env-id', MY_SECRET: 'env-cs', MY_TOKEN: 'env-rt' };
  const theirs = 'https://collect.example/t';

  test.each<[string, object, Environment]>([
    ['by the variables of the account', { region: 'eu', tokenEndpoint: theirs }, own],
    ['by the bare variables', { region: 'eu', tokenEndpoint: theirs }, variables],
    ['by variables that the file names', { region: 'eu', tokenEndpoint: theirs, ...fromVariables }, mine],
    ['to the endpoint', { endpoint: theirs }, own],
    ['beside an endpoint of the environment', { tokenEndpoint: theirs }, { ...own, LEDGERLAKE_ENDPOINT_SHOP: theirs }],
    ['to this machine', { region: 'eu', tokenEndpoint: 'http://localhost:2/t' }, own],
    ['to an endpoint on this machine', { endpoint: 'http://127.0.0.1:1' }, own],
    ['to an address that looks like one that is known', { endpoint: 'https://api.amazon.com.example' }, own],
    ['to a port of a host that is known', { region: 'eu', tokenEndpoint: 'https://api.amazon.com:444/t' }, own],
  ])('are not sent to an address of a file that only lay there: %s', async (_, account, environment) => {
    const refused = resolved(found(account), environment);
    await expect(refused).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    await expect(refused).rejects.toThrow(/^expected --config c\.json, or LEDGERLAKE_(TOKEN_)?ENDPOINT_SHOP, to say/);
    await expect(refused).rejects.not.toThrow(/env-/);
    // Named, it is the user's word.
    const { isDiscovered: isDiscovered, ...named } = found(account);
    expect(isDiscovered).toBe(true);
    expect((await resolved(named, environment)).signIn).toBeDefined();
  });

  test.each<[string, object, Environment]>([
    ['the service and its sign-in', { region: 'eu', tokenEndpoint: 'https://api.amazon.co.uk/auth/o2/token' }, own],
    [
      'what the environment names',
      { endpoint: theirs, tokenEndpoint: theirs },
      { ...own, LEDGERLAKE_ENDPOINT_SHOP: 'https://h', LEDGERLAKE_TOKEN_ENDPOINT_SHOP: 'https://h/t' },
    ],
  ])('are sent to %s', async (_, account, environment) => {
    expect((await resolved(found(account), environment)).signIn).toBeDefined();
  });

  test('a file that lay there may send its own secrets where it says', async () => {
    const account = { endpoint: theirs, tokenEndpoint: theirs, ...three };
    expect((await resolved(found(account))).signIn).toBeDefined();
  });
});

test.each([
  'http://user:pass-word@127.0.0.1',
  'https://user:pass-word@h',
  'https://pass-word@h',
  'https://:pass-word@h',
])('an endpoint of the command line holds no user and password: %s', async (endpoint) => {
  const refused = resolved(none, {}, { account: 'shop', endpoint });
  await expect(refused).rejects.toMatchObject({ code: 'USAGE' });
  await expect(refused).rejects.toThrow(/^expected --endpoint without user and password, .*LEDGERLAKE_ENDPOINT/);
  await expect(refused).rejects.not.toThrow(/pass-word/);
});

test('files with secrets that everybody can read are named', async () => {
  const folder = await temporaryFolder();
  for (const [name, mode] of [
    // A client id is no secret.
    ['id', 0o644],
    ['cs', 0o640],
    ['rt', 0o604],
  ] as const) {
    await writeFile(join(folder, name), 'secret');
    await chmod(join(folder, name), mode);
  }
  const secrets = { clientId: { file: 'id' }, clientSecret: { file: 'cs' }, refreshToken: { file: 'rt' } };
  const config = configured({ accounts: { shop: { region: 'eu', ...secrets } } }, folder);
  expect((await resolved(config)).exposed).toEqual([join(folder, 'rt')]);
  await chmod(join(folder, 'rt'), 0o600);
  expect((await resolved(config)).exposed).toBeUndefined();
});

describe('the variables of custom pipelines', () => {
  const secrets = {
    SHOP_URL: { env: 'MY_URL' },
    SHOP_TOKEN: 'token-of-the-file',
    SHOP_KEY: { file: 'key' },
  };

  test('that a file sets that only lay there are known as its own, or as referred to', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'key'), 'a-key');
    const config = configured({ accounts: { shop: { secrets } } }, folder);
    const environment = { MY_URL: 'https://collect.example', SHOP_OTHER_SHOP: 'x' };
    const found = await accountEnvironment({ ...config, isDiscovered: true }, environment, 'shop');
    expect(found.environment['SHOP_URL_SHOP']).toBe('https://collect.example');
    expect([...found.origins.found]).toEqual([
      ['SHOP_URL_SHOP', 'reference'],
      ['SHOP_TOKEN_SHOP', 'text'],
      ['SHOP_KEY_SHOP', 'reference'],
    ]);
    expect((await accountEnvironment(config, environment, 'shop')).origins.found.size).toBe(0);
    // What the environment sets is the user's.
    const set = { ...environment, SHOP_URL_SHOP: 'https://shop.example' };
    const own = await accountEnvironment({ ...config, isDiscovered: true }, set, 'shop');
    expect(own.origins.found.has('SHOP_URL_SHOP')).toBe(false);
  });

  test('that two accounts would read are read for neither, unless the file has them for each', async () => {
    const api = { address: 'https://shop.example', headers: { 'x-key': { env: 'KEY', perAccount: true } } };
    const config = configured({
      accounts: { 'my-shop': { secrets: { KEY: 'one' } }, 'my.shop': { secrets: { KEY: 'two' } }, other: {} },
    });
    const headersOf = async (account: string, environment: Environment) =>
      readApiAddress(api, { file: 'a.mjs', account, ...(await accountEnvironment(config, environment, account)) })
        .headers['x-key'];
    expect(await headersOf('my-shop', {})).toBe('one');
    expect(await headersOf('my.shop', {})).toBe('two');
    for (const account of ['my-shop', 'my.shop']) {
      await expect(headersOf(account, { KEY_MY_SHOP: 'shared' })).rejects.toThrow(
        /^a\.mjs: api\.headers\.x-key: expected a variable that only one account reads, got KEY_MY_SHOP/,
      );
    }
    expect(await headersOf('other', { KEY_OTHER: 'three' })).toBe('three');
  });
});

describe('an account that readers of the folders would take for none', () => {
  const refused = { code: 'USAGE', exitCode: 2, message: expect.stringContaining('and not null') as string };

  test.each(['null', 'NULL', 'Null', 'nuLL'])('%s is refused, wherever it is named', async (account) => {
    const endpoint = 'https://shop.example';
    await expect(resolved(none, {}, { account, endpoint })).rejects.toMatchObject(refused);
    await expect(resolved(none, { LEDGERLAKE_ACCOUNT: account }, { endpoint })).rejects.toMatchObject(refused);
    expect(() => configured({ accounts: { [account]: { endpoint } } })).toThrow(/expected a name of .*, and not null/);
    expect(() => configured({ settings: { account } })).toThrow(/expected a name of .*, and not null/);
    expect(() => readCustomAccount(account)).toThrow(/and not null/);
    await expect(backfill({ account, endpoint, lake: await temporaryFolder() })).rejects.toMatchObject(refused);
  });

  test('the synthetic seller is refused by its name for custom pipelines', () => {
    expect(() => readCustomAccount('demo')).toThrow(
      /with custom pipelines, got demo, the synthetic seller; choose any/,
    );
    expect(() => readCustomAccount(undefined)).toThrow(/with custom pipelines, got none; choose any/);
  });

  test.each(['nulls', 'nul', 'null-shop', 'x.null'])('%s is none', async (account) => {
    expect(await resolved(none, {}, { account, endpoint: 'https://shop.example' })).toMatchObject({ account });
  });
});
