import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { sharedOut } from '../campaign.js';
import { secrets } from '../engine/auth/token-endpoint.js';
import { serving, type Answer } from './hostile-server.js';
import { everythingIn, expectHeld, Figures, measuredCommand, type Measured } from './measured-command.js';

const megabyte = 1024 * 1024;
const accessToken = 'Atza|access+nobody/may=see&this?0451~';
const forms = [...Object.values(secrets), accessToken].flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=*$/, ''),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(secret).toString('hex'),
]);

const figures = new Figures();
afterAll(() => {
  figures.print();
});

const issue: Answer = (response) => {
  response.end(JSON.stringify({ access_token: accessToken, token_type: 'bearer', expires_in: 3600 }));
};

/** The address of a service that signs in, for the time of one test. */
const signingIn = (answer: Answer, signIn: Answer = issue): Promise<string> =>
  serving((response, request) => {
    (request.method === 'POST' ? signIn : answer)(response, request);
  });

interface Trial {
  readonly pipeline?: string;
  readonly speed?: number;
  readonly words?: readonly string[];
}

const quiet = ['--quiet'];

/** A body of 60 MB comes within the deadline of five minutes, on a busy machine too. */
const bulkSpeed = 50;

/** A backfill of two days that signs in; fails where a secret stands in an output or a file, in any form. */
async function backfill(
  endpoint: string,
  { pipeline, speed = bulkSpeed, words = quiet }: Trial = {},
): Promise<Measured> {
  const name = pipeline ?? 'financial-event-groups';
  const range = ['--from', '2026-11-01', '--to', '2026-11-03', '--rate', '1000', '--burst', '1000'];
  const ended = await measuredCommand(['backfill', name, ...range, ...words], {
    speed,
    environment: {
      LEDGERLAKE_ACCOUNT: 'shop',
      LEDGERLAKE_ENDPOINT: endpoint,
      LEDGERLAKE_TOKEN_ENDPOINT: `${endpoint}/auth/o2/token`,
      LEDGERLAKE_CLIENT_ID: secrets.clientId,
      LEDGERLAKE_CLIENT_SECRET: secrets.clientSecret,
      LEDGERLAKE_REFRESH_TOKEN: secrets.refreshToken,
    },
  });
  const seen = `${ended.out}${ended.err}${await everythingIn(ended.folder)}`;
  expect(forms.filter((form) => seen.includes(form))).toEqual([]);
  return ended;
}

/** Writes a piece again and again for as long as anybody reads, so many times at most, and so often. */
function flood(
  response: ServerResponse,
  piece: Buffer | string,
  { most = Infinity, everyMs = 0, last = '' } = {},
): void {
  let times = 0;
  const more = (): void => {
    if (response.destroyed) return;
    if (times++ === most) response.end(last);
    else response.write(piece, () => (everyMs === 0 ? setImmediate(more) : setTimeout(more, everyMs)));
  };
  more();
}

const blanks = Buffer.alloc(megabyte, ' ');
const noGroups = '{"payload":{"FinancialEventGroupList":[]}}';
const bomb = gzipSync(Buffer.alloc(500 * megabyte, ' '));
const lists = Array.from({ length: 200_000 }, (_, at) => `"List${at}":[{"PostedDate":"2026-11-01T01:00:00Z"}]`);
const manyLists = Buffer.from(`{"payload":{"FinancialEvents":{${lists.join(',')}}}}`);
const plain = (body: string | Buffer, headers: Record<string, string> = {}, status = 200): Answer => {
  return (response) => response.writeHead(status, headers).end(body);
};
const flooded = (piece: Buffer | string, more: Parameters<typeof flood>[2] = {}, headers = {}): Answer => {
  return (response) => {
    response.writeHead(200, headers);
    flood(response, piece, more);
  };
};

test.each(
  sharedOut<[string, Answer, RegExp, Trial?]>([
    ['body without an end', flooded(blanks), /at most 64 MB from 127\.0\.0\.1:\d+, got a larger one/],
    ['body without an end in pieces of a byte', flooded('{', { everyMs: 1 }), /took too long/, { speed: 1000 }],
    ['body that drips', flooded(' ', { everyMs: 50 }), /its whole answer took too long/, { speed: 500 }],
    ['body of 63 MB of `[`', flooded(Buffer.alloc(megabyte, '['), { most: 63 }), /512/],
    ['body of 63 MB of `0,`', flooded(Buffer.alloc(megabyte, '0,'), { most: 63 }), /expected/i],
    ['body of 60 MB of values', flooded('{"a":[],"b":0},'.repeat(4000), { most: 1000 }), /expected/i],
    [
      'gzip bomb (500 MB)',
      plain(bomb, { 'content-encoding': 'gzip' }),
      /at most 64 MB from 127\.0\.0\.1:\d+, got a larger one/,
    ],
    [
      'gzip without an end',
      flooded(bomb, {}, { 'content-encoding': 'gzip' }),
      /at most 64 MB from 127\.0\.0\.1:\d+, got a larger one/,
    ],
    ['gzip that nobody announced', plain(bomb), /expected/i],
    ['header of 1 MB', plain(noGroups, { 'x-amzn-requestid': 'x'.repeat(megabyte) }), /header/i, { speed: 1000 }],
    [
      'refusal without an end',
      (response) => {
        response.writeHead(400);
        flood(response, blanks);
      },
      /400/,
    ],
    ['redirect to itself', plain('', { location: '/' }, 307), /307/],
    ['NextToken of 20 MB', plain(`{"payload":{"NextToken":"${'x'.repeat(20 * megabyte)}"}}`), /expected/i],
    [
      'length that is none',
      (response) => {
        response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n{"payload"');
      },
      /./,
      { speed: 1000 },
    ],
  ]),
)('%s', async (kind, answer, says, trial) => {
  const ended = await backfill(await signingIn(answer), trial);
  await expectHeld(ended, { code: 1, says });
  figures.held(kind, ended);
});

test.each(
  sharedOut<[string, Answer, RegExp, Trial?]>([
    ['sign-in without an end', flooded(blanks), /access token/],
    ['sign-in that drips', flooded(' ', { everyMs: 50 }), /access token/, { speed: 500 }],
    ['sign-in as a gzip bomb', plain(bomb, { 'content-encoding': 'gzip' }), /access token/, { speed: 500 }],
    [
      'access token of 900 kB',
      plain(JSON.stringify({ access_token: 'x'.repeat(900_000), expires_in: 3600 })),
      /access token/,
    ],
    ['access token with line ends', plain('{"access_token":"a\\r\\nx: y","expires_in":3600}'), /./],
    ['access token of an age of 1e308 s', plain('{"access_token":"aaaaaaaaaaaa","expires_in":1e308}'), /503/],
  ]),
)('%s', async (kind, signIn, says, trial) => {
  const refused = plain('', {}, 400);
  const ended = await backfill(await signingIn(refused, signIn), trial);
  await expectHeld(ended, { code: 1, says: kind.includes('1e308') ? /400/ : says });
  figures.held(kind, ended);
});

test('page of 10 MB with 200,000 names of lists', async () => {
  const ended = await backfill(await signingIn(plain(manyLists)), { pipeline: 'financial-events' });
  await expectHeld(ended, { code: 0 });
  figures.held('page of 10 MB with 200,000 names of lists', ended);
});

test.each(sharedOut(['1e-10', '0', '-1', 'NaN', '1e308', 'Infinity', '0x10', ' ', '1, 1e-10']))(
  'rate of %j in a header',
  async (rate) => {
    const endpoint = await signingIn(plain(noGroups, { 'x-amzn-ratelimit-limit': rate }));
    const ended = await backfill(endpoint, { words: ['--log-format', 'json'] });
    await expectHeld(ended, { code: 0 });
    if (['1e-10', '1e308'].includes(rate)) expect(ended.err.match(/"event":"rate-unfit"/g)).toHaveLength(1);
    figures.held('rates that can not be meant', ended);
  },
);

const echoes: Readonly<Record<string, string>> = {
  'as it is': accessToken,
  'URL-encoded': encodeURIComponent(accessToken),
  base64: Buffer.from(accessToken).toString('base64'),
  'base64 within a text': Buffer.from(`token: ${accessToken}!`).toString('base64'),
  base64url: Buffer.from(accessToken).toString('base64url'),
  hex: Buffer.from(accessToken).toString('hex'),
};

test.each(sharedOut(Object.entries(echoes)))('token echoed in headers and bodies, %s', async (_form, echo) => {
  const headers = { 'x-amzn-requestid': echo, 'www-authenticate': echo, location: `/${echo}`, 'retry-after': echo };
  const body = JSON.stringify({ errors: [{ code: echo, message: echo, details: echo }] });
  const words = ['--verbose', '--log-format', 'json', '--journal', 'journal'];
  const found = await backfill(await signingIn(plain(noGroups, headers)), { words });
  expect([found.code, found.code === 0 ? '' : found.err]).toEqual([0, '']);
  figures.held('token echoed in headers', found);
  for (const status of [400, 403]) {
    const refused = await backfill(await signingIn(plain(body, headers, status)), {});
    await expectHeld(refused, { code: 1, says: /\[secret\]/ });
    figures.held('token echoed by a refusal', refused);
  }
  const page = `{"payload":{"NextToken":"${echo}","FinancialEventGroupList":[{"FinancialEventGroupId":"${echo}"}]}}`;
  const refusedPage = await backfill(await signingIn(plain(page, headers)), {});
  await expectHeld(refusedPage, { code: 1, says: /an answer that contains our credentials/ });
  figures.held('token echoed by a page', refusedPage);
});

test.each(
  sharedOut<[string, string | Buffer, RegExp]>([
    ['NUL', '902-1845936-5435065\0\n', /line 1/],
    ['path', '../../etc/passwd\n', /line 1/],
    ['steps', '902-1845936-5435065\n..\n', /line 2/],
    ['20 kB', `${'9'.repeat(20_000)}\n`, /line 1/],
    ['30 MB without a line end', '9'.repeat(30 * megabyte), /line 1/],
    ['control characters', '902-1845936-5435065\n902-1845936-543506\u001b[2J\u0007\u009b\n', /line 2/],
    ['two in a line', '902-1845936-5435065\r902-1845936-5435065\n', /line 1/],
    ['other digits', '٩٠٢-1845936-5435065\n', /line 1/],
    ['text that turns', '902-1845936-543506\u202e5\n', /line 1/],
    ['half a character', Buffer.of(0xed, 0xa0, 0x80), /line 1/],
    ['bytes that are no UTF-8', Buffer.of(0xff, 0xfe, 0x00), /line 1/],
    ['query', '902-1845936-5435065?x=1\n', /line 1/],
    ['nothing', '', /got none/],
    ['blank lines', '\n'.repeat(1_000_000), /got none/],
  ]),
)('order id: %s', async (_kind, text, says) => {
  let asked = 0;
  const endpoint = await signingIn(() => asked++);
  const ended = await measuredCommand(
    ['backfill', 'order-events', '--orders', '-', '--account', 'shop', '--endpoint', endpoint, '--quiet'],
    { input: [Buffer.from(text)] },
  );
  await expectHeld(ended, { code: 2, says });
  expect(await everythingIn(ended.folder)).toBe('');
  expect(asked).toBe(0);
  figures.held('hostile order ids', ended);
});

test.each(['{"payload":{}}', '{"payload":{"FinancialEvents":{}}}', '{"payload":{"FinancialEvents":null}}'])(
  'order of 0 events: %s',
  async (body) => {
    let asked = 0;
    const endpoint = await signingIn((response) => {
      asked++;
      response.end(body);
    });
    const words = ['--orders', '-', '--account', 'shop', '--endpoint', endpoint, '--quiet', '--rate', '1000'];
    const ended = await measuredCommand(['backfill', 'order-events', ...words], {
      input: [Buffer.from('902-1845936-5435065\n902-1845936-5435066\n')],
    });
    await expectHeld(ended, { code: 0 });
    expect(asked).toBe(2);
    figures.held('orders of 0 events', ended);
  },
);
