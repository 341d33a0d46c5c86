import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, truncate, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { latencyOf, signInOf } from '../../../src/cli/commands/serve-command.js';
import { faultKinds } from '../../../src/emulator/faults/fault-settings.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { orderId, shopsTemplate, type ShopsTemplate } from '../../app/two-shops.js';

/** Starts the built command; its child, and all that it has said so far. */
function command(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, ['dist/src/cli.js', 'serve', '--port', '0', ...words], { stdio: 'pipe', env });
  onTestFinished(() => {
    child.kill();
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  return { child, said };
}

/** Runs it to its end, which must come by itself. */
async function ended(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { child, said } = command(words, environment);
  await once(child, 'close');
  return { code: child.exitCode, ...said };
}

/** Starts it and waits for its address. */
async function started(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { child, said } = command(words, environment);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, said, url: line.replace('listening on ', '') };
}

const events = '/finances/v0/financialEvents';
const secrets = {
  LEDGERLAKE_SERVE_CLIENT_ID: 'client-hidden-1',
  LEDGERLAKE_SERVE_CLIENT_SECRET: 'secret-hidden-2',
};

describe('serve', () => {
  test('--help has a line for every fault', async () => {
    const { code, out } = await ended(['--help']);
    expect(code).toBe(0);
    for (const kind of faultKinds) expect(out).toMatch(new RegExp(`^${kind}[ :]`, 'm'));
    for (const option of ['--faults', '--latency', '--token-life']) expect(out).toContain(option);
  });

  test('shows the faults that it is told to', async () => {
    const { url } = await started(['--events', '500', '--faults', 'unknown-list,page-limit:10', '--latency', '1-2']);
    const refused = await fetch(url + events);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('InvalidInput')]);
    const body = await (await fetch(`${url}${events}?MaxResultsPerPage=10`)).text();
    expect(body).toContain('"PerformanceBondRefundEventList":[]');
  });

  test('shows none unless it is told to', async () => {
    const { url } = await started(['--events', '500', '--rate', '1000', '--burst', '1000']);
    for (let count = 0; count < 100; count++) {
      const response = await fetch(url + events);
      expect([response.status, response.headers.get('x-amzn-ratelimit-limit')]).toEqual([200, '1000']);
      expect(await response.json()).toHaveProperty('payload');
    }
  });

  test.each([
    [[], false],
    [['--profile', 'plausible'], false],
    [['--profile', 'edge-cases'], true],
  ])('has a plausible seller unless another profile is named (%j)', async (words, isOdd) => {
    const { url } = await started(['--events', '9000', ...words]);
    const body = await (
      await fetch(`${url}${events}?PostedAfter=${new Date(Date.now() - 5 * 86_400_000).toISOString()}`)
    ).text();
    expect(body.length).toBeGreaterThan(10_000);
    expect(/"CurrencyAmount":[-.\d]+e/i.test(body)).toBe(isOdd);
  });

  test.each([
    [['--profile', 'odd'], /expected --profile to be plausible or edge-cases, got "odd"/],
    [['--profile', 'plausible', '--lake', 'data/lake'], /expected --profile only without --lake/],
  ])('refuses %j', async (words, message) => {
    const { code, err } = await ended(words);
    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
  });

  test('asks for a sign-in when the environment has a client, and tells nobody of it', async () => {
    const { url, said, child } = await started(['--events', '500'], secrets);
    expect((await fetch(url + events)).status).toBe(403);
    const form = (secret: string) =>
      new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'refresh-hidden-3',
        client_id: secrets.LEDGERLAKE_SERVE_CLIENT_ID,
        client_secret: secret,
      });
    const signIn = (secret: string) => fetch(`${url}/auth/o2/token`, { method: 'POST', body: form(secret) });
    expect((await signIn('wrong')).status).toBe(401);
    const granted = (await (await signIn(secrets.LEDGERLAKE_SERVE_CLIENT_SECRET)).json()) as { access_token: string };
    const headers = { 'x-amz-access-token': granted.access_token };
    expect((await fetch(url + events, { headers })).status).toBe(200);
    child.kill();
    await once(child, 'close');
    expect(said.out + said.err).not.toMatch(/hidden|Atza/);
  });

  test('tells of each request without its tokens, says when it is open to all, and ends with SIGTERM', async () => {
    const { url, said, child } = await started(['--events', '500', '--host', '0.0.0.0', '--allow-open']);
    const address = url.replace('0.0.0.0', '127.0.0.1');
    const first = await fetch(`${address}${events}?MaxResultsPerPage=1`);
    const { payload } = (await first.json()) as { payload: { NextToken: string } };
    expect((await fetch(`${address}${events}?NextToken=${payload.NextToken}`)).status).toBe(200);
    expect(await (await fetch(`${address}/healthz`)).json()).toMatchObject({ status: 'ok', serves: 'seller' });
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(child.exitCode).toBe(0);
    expect(said.err).toMatch(/^everybody who reaches 0\.0\.0\.0 can read everything, because there is no sign-in/);
    const id = first.headers.get('x-amzn-requestid') ?? 'none';
    expect(said.err).toMatch(new RegExp(`Z GET ${events}\\?MaxResultsPerPage=1 200 \\d+ms \\d+B ${id}\n`));
    expect(said.err).toContain(`${events}?NextToken=… 200 `);
    expect(said.err).not.toContain(payload.NextToken);
  });

  test('on loopback it answers to names of this machine, and to those that it is told', async () => {
    const { url } = await started(['--events', '500', '--allow-host', 'Shop.example']);
    expect(await statuses(url)).toEqual([200, 200, 421]);
  });

  test('opened up it answers to any name, or to those that it is told', async () => {
    const any = await started(['--events', '500', '--host', '0.0.0.0', '--allow-open']);
    expect(await statuses(any.url)).toEqual([200, 200, 200]);
    const told = await started([
      '--events',
      '500',
      '--host',
      '0.0.0.0',
      '--allow-open',
      '--allow-host',
      'shop.example',
    ]);
    expect(await statuses(told.url)).toEqual([200, 200, 421]);
  });

  async function statuses(url: string): Promise<number[]> {
    const status = async (host: string) =>
      (await once(request(`${url}/healthz`, { headers: { host } }).end(), 'response')) as [{ statusCode: number }];
    const answers = await Promise.all(['shop.example:80', 'localhost', 'evil.example'].map(status));
    return answers.map(([{ statusCode }]) => statusCode);
  }

  describe('over a lake', () => {
    let shops: ShopsTemplate;
    beforeAll(async () => {
      shops = await shopsTemplate();
    });
    afterAll(() => shops.close());

    test('serves the account that it is told, from the stored bytes', async () => {
      const { lake } = await shops.copy();
      const { url, said } = await started(['--lake', lake, '--account', 'shop-b', '--rate', '1000']);
      const answer = await fetch(`${url}/finances/v0/orders/${orderId('shop-b', 0)}/financialEvents`);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"SellerSKU":"SKU-B0"')]);
      const other = await fetch(`${url}/finances/v0/orders/${orderId('shop-a', 0)}/financialEvents`);
      expect(other.status).toBe(404);
      const health = { status: 'ok', serves: 'lake', account: 'shop-b', tables: expect.any(Object) as object };
      expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject(health);
      expect(said.err).not.toContain('failed');
    });

    test('shows the report of the account at /, and nothing of it where there is a sign-in', async () => {
      const { lake } = await shops.copy();
      const { url, said } = await started(['--lake', lake, '--account', 'shop-b']);
      const [page, again] = await Promise.all([fetch(url), fetch(url)]);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      // Not to be put into a page of somebody else's.
      expect(page.headers.get('content-security-policy')).toBe("frame-ancestors 'none'");
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
      const html = await page.text();
      expect(html).toContain('shop-b');
      expect(html).toContain('SKU-B0');
      expect(html).not.toContain('shop-a');
      expect(await again.text()).toBe(html);
      expect(said.err).not.toContain('failed');

      const closed = await started(['--lake', lake, '--account', 'shop-b'], secrets);
      const plain = await (await fetch(closed.url)).text();
      expect(plain).toContain('GET /healthz');
      expect(plain).not.toContain('SKU');
    });

    test('has the months of its report in the time zone of the environment, of the configuration, or of an option', async () => {
      const { lake } = await shops.copy();
      const config = join(await temporaryFolder(), 'my.config.json');
      await writeFile(config, JSON.stringify({ settings: { timeZone: 'Europe/Berlin', from: '2025-06-01' } }));
      const words = ['--lake', lake, '--account', 'shop-b'];
      for (const [more, environment, zone] of [
        [['--config', config], {}, 'Europe/Berlin'],
        [['--config', config], { LEDGERLAKE_TIME_ZONE: 'Asia/Tokyo' }, 'Asia/Tokyo'],
        [['--time-zone', 'America/Denver'], { LEDGERLAKE_TIME_ZONE: 'Asia/Tokyo' }, 'America/Denver'],
      ] as const) {
        const { url } = await started([...words, ...more], environment);
        const html = await (await fetch(url)).text();
        expect(html).toContain(`Months begin and end in the time zone ${zone};`);
        expect(html).toContain('2025-04');
      }
      const wrong = await ended(words, { LEDGERLAKE_TIME_ZONE: 'Berlin' });
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('LEDGERLAKE_TIME_ZONE')]);
    });

    test('names a damaged data file in its log', async () => {
      const { lake } = await shops.copy();
      const names = await readdir(join(lake, 'events'), { recursive: true });
      const damaged = names.filter((path) => path.includes('shop-b') && path.endsWith('.parquet'));
      for (const path of damaged) await truncate(join(lake, 'events', path), 500);
      const { url, child, said } = await started(['--lake', lake, '--account', 'shop-b', '--rate', '1000']);
      expect((await fetch(url + events)).status).toBe(500);
      child.kill();
      await once(child, 'close');
      expect(said.err).toMatch(/^request \S+ failed: expected the file \S+\.parquet/m);
      expect(said.err).toContain('run `ledgerlake backfill financial-events ');
    });

    test('that holds several accounts asks which one, and refuses others', async () => {
      const { lake } = await shops.copy();
      for (const [words, expected] of [
        [[], /name the account to serve, got none; .* has shop-a, shop-b\n$/],
        [['--account', 'shop-c'], /be an account of .* \(shop-a, shop-b\), got "shop-c"/],
      ] as const) {
        const { code, out, err } = await ended(['--lake', lake, ...words]);
        expect({ code, out }).toEqual({ code: 2, out: '' });
        expect(err).toMatch(/^ledgerlake: USAGE: expected --account to /);
        expect(err).toMatch(expected);
      }
    });

    test('that holds nothing is refused', async () => {
      const { code, err } = await ended(['--lake', await temporaryFolder()]);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/^ledgerlake: USAGE: expected a lake with events .*backfill.*\n$/),
      ]);
    });
  });

  test.each<[string, string[], Readonly<Record<string, string>>, RegExp]>([
    ['an account of a synthetic seller', ['--account', 'shop'], {}, /--account only with --lake/],
    ['the cache of a synthetic seller', ['--cache', 'cache'], {}, /--cache only with --lake/],
    ['events of a lake', ['--lake', 'nowhere', '--events', '5'], {}, /--events only without --lake/],
    ['a host with a port', ['--allow-host', 'a.example,b.example:80'], {}, /--allow-host.*"b.example:80"/],
    ['a fault that is none', ['--faults', 'throtled'], {}, /--faults.*"throtled".*throttled-spell/],
    ['a share that is none', ['--faults', 'throttled=2'], {}, /--faults.*"throttled=2".*from 0 to 1/],
    ['a latency that is none', ['--latency', 'slow'], {}, /--latency.*"slow"/],
    ['a life that is none', ['--token-life', '0'], {}, /--token-life/],
    ['an address that others reach', ['--host', '0.0.0.0'], {}, /sign-in.*"?0\.0\.0\.0.*--allow-open/],
    ['all addresses', ['--host', '::'], {}, /sign-in.*--allow-open/],
    ['no address', ['--host', ''], {}, /sign-in.*--allow-open/],
    [
      'a short secret',
      [],
      { LEDGERLAKE_SERVE_CLIENT_ID: 'hidden', LEDGERLAKE_SERVE_CLIENT_SECRET: 'hidden-5678' },
      /LEDGERLAKE_SERVE_CLIENT_SECRET .*at least 12 characters/,
    ],
    ['a client without a secret', [], { LEDGERLAKE_SERVE_CLIENT_ID: 'hidden' }, /LEDGERLAKE_SERVE_CLIENT_SECRET/],
    ['a secret without a client', [], { LEDGERLAKE_SERVE_CLIENT_SECRET: 'hidden' }, /LEDGERLAKE_SERVE_CLIENT_ID/],
  ])('%s: exit 2, in one line', async (_what, words, environment, message) => {
    const { code, out, err } = await ended(words, environment);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(err).not.toContain('hidden');
  });
});

test.each([
  ['0', { least: 0, most: 0 }],
  ['400', { least: 400, most: 400 }],
  ['100-3000', { least: 100, most: 3000 }],
])('a latency of %j', (text, latency) => {
  expect(latencyOf(text)).toEqual(latency);
});

test.each(['', '-1', '1.5', '300-100', '1-', '1-2-3', '1e3'])('%j is no latency', (text) => {
  expect(() => latencyOf(text)).toThrow(/--latency/);
});

test('an empty variable is one that is not set', () => {
  expect(signInOf({})).toBeUndefined();
  expect(signInOf({ LEDGERLAKE_SERVE_CLIENT_ID: '', LEDGERLAKE_SERVE_CLIENT_SECRET: '' })).toBeUndefined();
  expect(signInOf(secrets)).toEqual({ clientId: 'client-hidden-1', clientSecret: 'secret-hidden-2' });
});
