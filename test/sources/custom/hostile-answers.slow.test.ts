import { describe, expect, test } from 'vitest';
import { readApiAddress } from '../../../src/sources/custom/custom-address.js';
import { customPipeline } from '../../../src/sources/custom/custom-pipeline.js';
import { customTables } from '../../../src/sources/custom/custom-table.js';
import type { ApiDefinition, PipelineDefinition } from '../../../src/sources/custom/definition.js';
import { everythingIn } from '../../attack/measured-command.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { loaded } from './custom-run.js';
import { exampleServer, type Asked, type Answered } from './example-server.js';
import shipments from './typescript/shipments.js';

const secret = 'key/of+the/depot=0451';
const issued = 'access/token+of/nobody~0451';
const day = { from: '2025-01-20', to: '2025-01-21' };

/** Loads a day with a secret in a header and one that signs in; what it says and leaves behind, and what it ended with. */
async function backfilled(answer: (asked: Asked, url: string) => Answered, more: Partial<PipelineDefinition> = {}) {
  let url = '';
  const server = await exampleServer((asked) =>
    asked.path === '/token' ? { body: { access_token: issued, expires_in: 3600 } } : answer(asked, url),
  );
  ({ url } = server);
  const definition: PipelineDefinition = {
    ...shipments,
    ...more,
    api: {
      ...shipments.api,
      causeOfPage: (body) => (body.at('errors') === undefined ? undefined : 'denied'),
      messageOf: (body) => body.at('errors', 'message')?.text,
      address: url,
      headers: { 'x-key': { env: 'KEY' } },
      signIn: { tokenEndpoint: `${url}/token`, clientId: 'id', clientSecret: { env: 'CLIENT_SECRET' } },
    },
  };
  const own = customPipeline({ file: 'shipments.js', definition, ...customTables(definition) });
  const lake = await temporaryFolder();
  const logged: string[] = [];
  const clock = runningClock('2025-03-01T00:00:00Z', 500);
  const environment = { KEY: secret, CLIENT_SECRET: 'secret-of-the-client' };
  const error: unknown = await loaded(own, { lake, ...day, logged, clock, environment }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const said = error instanceof Error ? `${error.message}\n${'details' in error ? String(error.details) : ''}` : '';
  return { asked: server.asked, seen: `${said}\n${logged.join('\n')}\n${await everythingIn(lake)}`, said };
}

/** JSON as PHP, and as careful encoders, write it. */
const writings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'with escaped slashes': (text) => text.replaceAll('/', '\\/'),
  'with escaped letters': (text) => text.replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
};

describe('a secret that an answer repeats gets into no error, no log and no file', () => {
  const bodies: Readonly<Record<string, (text: string) => string>> = {
    'a page that refuses': (text) => `{"errors":{"message":"not with ${text}"}}`,
    'a record': (text) => `{"shipments":[{"id":"${text}"}]}`,
    'a cursor': (text) => `{"shipments":[],"next_cursor":"${text}"}`,
  };
  const cases = Object.entries(bodies).flatMap(([body, of]) =>
    Object.entries(writings).flatMap(([writing, write]) =>
      [secret, issued].map((text) => [`${body}, ${writing}: ${text}`, of(write(text)), text] as const),
    ),
  );
  test.each(cases)('%s', async (_name, body, text) => {
    const { seen, said } = await backfilled(() => ({ text: body }));
    expect(said).toMatch(/contains our credentials/);
    expect(seen).not.toContain(text);
    expect(seen).not.toContain(writings['with escaped slashes']?.(text));
  });

  test.each(Object.keys(writings))('a refusal, %s', async (writing) => {
    const body = `{"errors":{"message":"not with ${writings[writing]?.(secret) ?? ''}"}}`;
    const { seen, said } = await backfilled(() => ({ status: 403, text: body }));
    expect(said).toContain('not with [secret]');
    expect(seen).not.toContain(secret);
  });
});

describe('a secret goes to no other host', () => {
  test.each([301, 307, 308])('by a redirect with %s', async (status) => {
    const other = await exampleServer(() => ({ body: {} }));
    const { said } = await backfilled(() => ({ status, headers: { location: `${other.url}/v2/shipments` } }));
    expect(said).toContain(`got status ${status}`);
    expect(other.asked).toEqual([]);
  });

  test.each(['http://127.0.0.2:1/x', '//127.0.0.2:1/x', '\\\\127.0.0.2:1/x', 'javascript:1', 'http://x@127.0.0.2:1/'])(
    'by a link to %s',
    async (link) => {
      const { said, asked } = await backfilled(() => ({ body: { shipments: [], next_cursor: link } }), {
        next: ({ body }) => body.at('next_cursor')?.text,
      });
      expect(said).toMatch(/next: expected a link to http:\/\/127\.0\.0\.1:\d+\/\S*, got/);
      expect(asked.filter(({ path }) => path !== '/token')).toHaveLength(1);
    },
  );
});

test('a configuration that only lay in the working folder sends secrets of the user to no address of its own', () => {
  const own = (env: string) => ({ env, perAccount: true });
  const api: ApiDefinition = {
    address: own('URL'),
    headers: { 'x-key': own('KEY') },
    signIn: { tokenEndpoint: own('TOKEN_URL'), clientId: 'id', clientSecret: { env: 'CLIENT_SECRET' } },
  };
  const environment = {
    URL_DEPOT: 'https://api.example',
    TOKEN_URL_DEPOT: 'https://api.example/t',
    KEY_DEPOT: secret,
    CLIENT_SECRET: secret,
  };
  const read = (found: string[], referred: string[] = [], more: object = {}) => {
    const origins = new Map<string, 'text' | 'reference'>(found.map((name) => [name, 'text']));
    for (const name of referred) origins.set(name, 'reference');
    return readApiAddress(api, {
      file: 'a.mjs',
      account: 'depot',
      environment: { ...environment, ...more },
      origins: { found: origins, shared: new Set() },
    });
  };
  for (const [name, all] of [
    ['URL_DEPOT', ['URL_DEPOT']],
    ['TOKEN_URL_DEPOT', ['TOKEN_URL_DEPOT', 'KEY_DEPOT']],
  ] as const) {
    expect(() => read([...all])).toThrow(new RegExp(`^a\\.mjs: expected --config, or the variable ${name}, to permit`));
    expect(() => read([...all])).not.toThrow(/depot=0451/);
  }
  expect(read([]).origin).toBe('https://api.example');
  expect(read(['KEY_DEPOT']).origin).toBe('https://api.example');
  expect(read(['URL_DEPOT', 'TOKEN_URL_DEPOT', 'KEY_DEPOT', 'CLIENT_SECRET']).origin).toBe('https://api.example');
  // The address is their choice, too, where a file or another variable has it, and where it is this machine.
  const refused = /^a\.mjs: expected --config, or the variable (TOKEN_)?URL_DEPOT, to permit .* go to another address,/;
  const secretHost = { URL_DEPOT: `https://${secret.replace('=', '-')}.example` };
  expect(() => read([], ['URL_DEPOT'], secretHost)).toThrow(refused);
  expect(() => read([], ['TOKEN_URL_DEPOT'])).toThrow(refused);
  expect(() => read(['KEY_DEPOT'], ['URL_DEPOT', 'TOKEN_URL_DEPOT'])).toThrow(refused);
  // A secret that it refers to is the user's.
  expect(() => read(['URL_DEPOT', 'TOKEN_URL_DEPOT', 'KEY_DEPOT'], ['CLIENT_SECRET'])).toThrow(/to permit/);
  expect(() => read(['URL_DEPOT'], [], { URL_DEPOT: 'http://127.0.0.1:1' })).toThrow(/go to 127\.0\.0\.1:1, got/);
});

test('values with line ends are no headers, and are not shown', () => {
  const bad = `${secret}\r\nx-admin: 1`;
  const api = (more: Partial<ApiDefinition>): ApiDefinition => ({
    ...shipments.api,
    address: 'https://host',
    headers: {},
    ...more,
  });
  const signIn = { tokenEndpoint: 'https://host/token', clientId: 'id', clientSecret: { env: 'KEY' } };
  const cases: ApiDefinition[] = [
    api({ headers: { 'x-key': { env: 'BAD' } } }),
    api({ headers: { 'x-key': { env: 'KEY', before: 'a\nb' } } }),
    api({ headers: { 'x-key': bad } }),
    api({ headers: { 'x-key': 'ключ' } }),
    api({ signIn: { ...signIn, header: { name: 'x-key', before: 'a\r\nb: ' } } }),
  ];
  for (const one of cases) {
    const read = () => readApiAddress(one, { file: 'a.mjs', account: 'depot', environment: { KEY: secret, BAD: bad } });
    expect(read).toThrow(/^a\.mjs: expected the header x-key.* to be visible ASCII on one line, got other characters/);
    expect(read).not.toThrow(/depot=0451/);
  }
});
