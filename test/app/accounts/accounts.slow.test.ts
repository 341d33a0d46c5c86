import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { secrets, tokenEndpoint, tokenOf, type Reply } from '../../engine/auth/token-endpoint.js';
import { builtCommand, type Ended } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';
import { listening } from '../../listening.js';

interface Service {
  readonly url: string;
  readonly asked: readonly { readonly url: URL; readonly token: string | undefined }[];
}

/** The first operation alone, for callers with an access token. */
async function service(answer?: (token: string) => Reply): Promise<Service> {
  const asked: { url: URL; token: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const header = request.headers['x-amz-access-token'];
    const token = typeof header === 'string' ? header : undefined;
    asked.push({ url: new URL(request.url ?? '', 'http://h'), token });
    const refused: Reply = { status: 403, body: '{"errors":[{"code":"Unauthorized","message":"Access is denied."}]}' };
    const granted: Reply = { body: '{"payload":{"FinancialEventGroupList":[]}}' };
    const { status = 200, body } = answer?.(token ?? '') ?? (token === undefined ? refused : granted);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  return { url: await listening(server), asked };
}

/** A working folder with a configuration. */
async function folderWith(config: object): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify(config), { mode: 0o600 });
  return folder;
}

/** Everything that others may get to see must be free of secrets: output, command line, files but the user's own. */
async function expectNoSecret({ out, err, commandLine }: Ended, folder: string): Promise<void> {
  const seen = [out, err, commandLine];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && !['ledgerlake.config.json', 'token'].includes(entry.name)) {
      seen.push(await readFile(join(entry.parentPath, entry.name), 'latin1'));
    }
  }
  for (const secret of [...Object.values(secrets), 'nobody-may-see-this', 'hidden-password']) {
    for (const text of seen) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(encodeURIComponent(secret));
      expect(text).not.toContain(Buffer.from(secret).toString('base64').replace(/=*$/, ''));
    }
  }
}

describe('accounts', () => {
  test('lists what is set and from where, never a value', async () => {
    const folder = await folderWith({
      accounts: {
        'my-shop': { region: 'eu', ...secrets },
        other: {
          endpoint: 'https://me:hidden-password@host.test/prefix',
          clientId: { env: 'OTHER_ID' },
          refreshToken: { file: 'token' },
        },
      },
    });
    const environment = { OTHER_ID: secrets.clientId, LEDGERLAKE_CLIENT_SECRET_OTHER: secrets.clientSecret };
    const ended = await builtCommand(['accounts', '--format', 'json'], { folder, environment });
    expect(ended).toMatchObject({ code: 0, err: '' });
    const token_endpoint = 'https://api.amazon.com/auth/o2/token';
    const place = 'configuration';
    expect(JSON.parse(ended.out)).toEqual([
      {
        account: 'my-shop',
        region: 'eu',
        endpoint: 'https://sellingpartnerapi-eu.amazon.com',
        token_endpoint,
        client_id: place,
        client_secret: place,
        refresh_token: place,
      },
      {
        account: 'other',
        region: null,
        endpoint: 'https://host.test/prefix',
        token_endpoint,
        client_id: 'OTHER_ID',
        client_secret: 'LEDGERLAKE_CLIENT_SECRET_OTHER',
        refresh_token: 'token',
      },
    ]);
    await expectNoSecret(ended, folder);
    const table = await builtCommand(['accounts'], { folder, environment });
    expect(table.out).toMatch(/^my-shop\n {2}region +eu\n/);
    expect(table.out).toMatch(/^ {2}client id +OTHER_ID$/m);
    expect((await builtCommand(['accounts'], { folder })).out).toContain('OTHER_ID, which is not set');
    await expectNoSecret(table, folder);
  });

  test('says where to name an account when there is none', async () => {
    const ended = await builtCommand(['accounts'], { folder: await temporaryFolder() });
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.err).toMatch(
      /^No account is configured, because there is no ledgerlake\.config\.json in \/\S+: name its file with --config, write one with `ledgerlake init`/,
    );
  });

  test.each([
    [['accounts', 'chek'], /expected `accounts` or `accounts check`, .*; did you mean `accounts check`\?/],
    [['accounts', 'shop'], /did you mean `accounts check shop`\?/],
    [['accounts', 'check'], /got none, and there is no ledgerlake\.config\.json in \/\S+; name its file with --config/],
    [['accounts', '--config', 'none.json'], /none\.json, which --config names, got no such file in \//],
    [['accounts', '--client-secret', 'x'], /client-secret/],
    [['enqueue', 'retry', '--account=a'], /did you mean `ledgerlake enqueue retry a`\?/],
  ])('%j is refused', async (words, message) => {
    const ended = await builtCommand(words, { folder: await temporaryFolder() });
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toMatch(message);
    expect(ended.err.trimEnd().split('\n')).toHaveLength(1);
  });
});

test.each([
  ['LEDGERLAKE_REGION', 'xx', /expected LEDGERLAKE_REGION to be one of na, eu, fe, .*got something else; correct it$/],
  ['LEDGERLAKE_REGION', 'sandbox-e', /expected LEDGERLAKE_REGION to be .*; did you mean sandbox-eu\?$/],
  ['LEDGERLAKE_REGION_SHOP', 'EU', /expected LEDGERLAKE_REGION_SHOP to be .*; did you mean eu\?$/],
  ['LEDGERLAKE_ENDPOINT', 'localhost', /expected LEDGERLAKE_ENDPOINT to be a base address/],
  ['LEDGERLAKE_TOKEN_ENDPOINT_SHOP', 'there', /expected LEDGERLAKE_TOKEN_ENDPOINT_SHOP to be/],
])('accounts refuses %s=%s though no account is named yet', async (name, value, message) => {
  const ended = await builtCommand(['accounts'], { folder: await temporaryFolder(), environment: { [name]: value } });
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err.trimEnd()).toMatch(message);
  expect(ended.err.trimEnd().split('\n')).toHaveLength(1);
});

describe('accounts check', () => {
  test('signs in and asks for one settlement of the last day, behind the margin', async () => {
    const tokens = await tokenEndpoint();
    const { url, asked } = await service();
    const folder = await folderWith({
      accounts: { 'my-shop': { endpoint: url, tokenEndpoint: tokens.url, ...secrets } },
    });
    const began = Date.now();
    const ended = await builtCommand(['accounts', 'check', '--verbose'], { folder });
    expect(ended).toMatchObject({ code: 0, err: '', out: `my-shop: ok, signed in, answered by ${url}\n` });
    expect([tokens.asked.length, asked.length]).toEqual([1, 1]);
    expect(asked[0]?.token).toBe(tokenOf(1));
    expect(asked[0]?.url.pathname).toBe('/finances/v0/financialEventGroups');
    const { MaxResultsPerPage, FinancialEventGroupStartedAfter, FinancialEventGroupStartedBefore } = Object.fromEntries(
      asked[0]?.url.searchParams ?? [],
    );
    const end = Date.parse(FinancialEventGroupStartedBefore ?? '');
    expect(MaxResultsPerPage).toBe('1');
    expect(end - Date.parse(FinancialEventGroupStartedAfter ?? '')).toBe(86_400_000);
    expect(end).toBeLessThan(Date.now() - 120_000);
    expect(end).toBeGreaterThan(began - 600_000);
    await expectNoSecret(ended, folder);
  });

  test('tries each, tells what to check, and exits 1 when one fails, 2 when one is configured wrong', async () => {
    const tokens = await tokenEndpoint();
    const { url } = await service();
    const folder = await folderWith({
      accounts: {
        good: { endpoint: url, tokenEndpoint: tokens.url, ...secrets },
        'not-set': { endpoint: url, ...secrets, refreshToken: { env: 'NOT_SET' } },
        open: { endpoint: url },
      },
    });
    const ended = await builtCommand(['accounts', 'check', '--format', 'json'], { folder });
    expect(ended).toMatchObject({ code: 2, err: '' });
    expect(JSON.parse(ended.out)).toMatchObject([
      { account: 'good', ok: true, endpoint: url, code: null },
      { account: 'not-set', ok: false, code: 'USAGE', message: expect.stringContaining('NOT_SET') as string },
      { account: 'open', ok: false, endpoint: url, code: 'UPSTREAM_STATUS' },
    ]);
    await expectNoSecret(ended, folder);
    expect(await builtCommand(['accounts', 'check', 'good'], { folder })).toMatchObject({ code: 0 });
    const named = await builtCommand(['accounts', 'check', '--account', 'good'], { folder });
    expect([named.code, named.out]).toEqual([0, expect.stringMatching(/^good: ok, .*\n$/)]);
    const listed = await builtCommand(['accounts', '--account', 'open', '--format', 'json'], { folder });
    expect(JSON.parse(listed.out)).toMatchObject([{ account: 'open' }]);
    expect(await builtCommand(['accounts', 'check', 'good', 'open'], { folder })).toMatchObject({ code: 1 });
    const synced = await builtCommand(['sync', '--account', 'not-set', '--lake', 'lake'], { folder });
    expect(synced).toMatchObject({ code: 2, out: '' });
    const unknown = await builtCommand(['accounts', 'check', 'good', 'opne'], { folder });
    expect(unknown).toMatchObject({ code: 2, out: '' });
    expect(unknown.err).toMatch(/got "opne"; did you mean open\?/);
  });
});

test('the advice of accounts check names no option that it refuses', async () => {
  for (const [environment, accounts] of [
    [{}, { shop: {} }],
    [{ LEDGERLAKE_ACCOUNT: 'shop' }, {}],
    [{}, { shop: { endpoint: 'http://127.0.0.1:1' } }],
  ] as const) {
    const folder = await folderWith({ accounts });
    const ended = await builtCommand(['accounts', 'check', 'shop'], { folder, environment });
    expect(ended.out).toMatch(/^shop: failed, /);
    // But in another command.
    expect(ended.out.replaceAll(/`.*?`/g, '')).not.toMatch(/--(?!config)/);
  }
});

describe('no secret gets out', () => {
  const environment = {
    LEDGERLAKE_ACCOUNT: 'my-shop',
    LEDGERLAKE_CLIENT_ID: secrets.clientId,
    LEDGERLAKE_CLIENT_SECRET: secrets.clientSecret,
    LEDGERLAKE_REFRESH_TOKEN: secrets.refreshToken,
  };
  /** Answers that quote what they were asked with. */
  const quoting = (status: number, error: string): ((asked: { body: string }) => Reply) => {
    return ({ body }) => ({ status, body: JSON.stringify({ error, error_description: `wrong: ${body}` }) });
  };

  test.each<[string, Parameters<typeof tokenEndpoint>[0], ((token: string) => Reply) | undefined, string, RegExp]>([
    ['a refused refresh token', quoting(400, 'invalid_grant'), undefined, 'SIGN_IN_REFUSED', /check the refresh token/],
    ['a refused client', quoting(401, 'invalid_client'), undefined, 'SIGN_IN_REFUSED', /client secret/],
    ['an error of another shape', quoting(403, 'x'), undefined, 'SIGN_IN_REFUSED', /status 403/],
    ['an answer that is none', ({ body }) => ({ body: `<html>${body}` }), undefined, 'SIGN_IN_UNREACHABLE', /proxy/],
    [
      'a service that denies access and quotes the token',
      undefined,
      (token) => ({
        status: 403,
        body: JSON.stringify({ errors: [{ code: 'Unauthorized', message: `no: ${token}` }] }),
      }),
      'UPSTREAM_STATUS',
      /credentials/,
    ],
    [
      'a service that answers with a web page that quotes the token',
      undefined,
      (token) => ({ body: `<html>${token}</html>` }),
      'UPSTREAM_BODY',
      /web page/,
    ],
  ])('%s', async (_what, answer, serviceAnswer, code, message) => {
    const tokens = await tokenEndpoint(answer);
    const { url } = await service(serviceAnswer);
    const inFile = await folderWith({
      accounts: { 'my-shop': { endpoint: url, tokenEndpoint: tokens.url, ...secrets } },
    });
    const inVariables = await temporaryFolder();
    const variables = { ...environment, LEDGERLAKE_ENDPOINT: url, LEDGERLAKE_TOKEN_ENDPOINT: tokens.url };
    const words = ['accounts', 'check', '--verbose', '--format', 'json'];
    const runs = await Promise.all([
      builtCommand(words, { folder: inFile }),
      builtCommand(words, { folder: inVariables, environment: variables }),
    ]);
    for (const [at, ended] of runs.entries()) {
      expect(ended.code).toBe(1);
      expect(JSON.parse(ended.out)).toMatchObject([{ account: 'my-shop', ok: false, code }]);
      expect(ended.out).toMatch(message);
      await expectNoSecret(ended, at === 0 ? inFile : inVariables);
    }
    if (process.platform === 'linux') expect(runs[0].commandLine).toContain('accounts');
  });

  test('nobody at the token endpoint', async () => {
    const { url } = await service();
    const folder = await temporaryFolder();
    const variables = { ...environment, LEDGERLAKE_ENDPOINT: url, LEDGERLAKE_TOKEN_ENDPOINT: 'http://127.0.0.1:1/t' };
    const ended = await builtCommand(['accounts', 'check', '--verbose'], { folder, environment: variables });
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(/^my-shop: failed, expected an access token .* it refuses connections/);
    await expectNoSecret(ended, folder);
  });

  test('a configuration that is wrong', async () => {
    for (const account of [
      { region: secrets.refreshToken },
      { [secrets.clientSecret]: 'x', ...secrets },
      { region: 'na', ...secrets, tokenEndpoint: `http://h.test/${secrets.clientSecret}` },
      { endpoint: 'me:hidden-password@h', ...secrets },
      { clientSecret: [secrets.clientSecret] },
      secrets.refreshToken,
    ]) {
      const folder = await folderWith({ accounts: { 'my-shop': account } });
      const ended = await builtCommand(['accounts', 'check', '--verbose'], { folder });
      expect(ended).toMatchObject({ code: 2, out: '' });
      await expectNoSecret(ended, folder);
    }
    const folder = await temporaryFolder();
    await writeFile(
      join(folder, 'ledgerlake.config.json'),
      `{"accounts":{"a":{"clientSecret":"${secrets.clientSecret}`,
    );
    const ended = await builtCommand(['accounts', '--verbose'], { folder });
    expect(ended).toMatchObject({ code: 2, out: '' });
    await expectNoSecret(ended, folder);
  });
});
