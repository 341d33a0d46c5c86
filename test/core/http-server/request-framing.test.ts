import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { serveMetrics } from '../../../src/observe/metrics/metrics-server.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { answered, exchange, socketTo, startedServer, statusesOf } from './raw-client.js';

const second = 'GET /second HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
/** A body that is a request by itself, for whoever believes another length. */
const body = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';

const post = (headers: string, content: string) =>
  `POST /first HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${content}${second}`;
const chunk = (content: string, size = content.length.toString(16)) => `${size}\r\n${content}\r\n`;
const length = body.length;

const lengthOf = (value: string): string => post(`Content-Length:${value}\r\n`, body);
const encodedAs = (value: string): string => post(`Transfer-Encoding: ${value}\r\n`, `${chunk(body)}0\r\n\r\n`);
const sized = (size: string): string => post('Transfer-Encoding: chunked\r\n', `${chunk(body, size)}0\r\n\r\n`);
const chunked = (content: string): string => post('Transfer-Encoding: chunked\r\n', content);
const get = (line: string, headers = ''): string => `${line}\r\nHost: localhost\r\n${headers}\r\n${second}`;
const hex = length.toString(16);

/** Requests of which both are answered: RFC 9112, sections 2.2, 6 and 7.1. */
const whole: Readonly<Record<string, string>> = {
  'a length': lengthOf(`${length}`),
  'a length with zeros': lengthOf(`0${length}`),
  'a length between blanks': lengthOf(`\t${length} `),
  chunks: chunked(`${chunk(body)}0\r\n\r\n`),
  'chunks with an extension': chunked(`${hex};a=b\r\n${body}\r\n0\r\n\r\n`),
  'chunks in capitals': sized(hex.toUpperCase()),
  'chunks with zeros': sized(`${'0'.repeat(40)}${hex}`),
  CHUNKED: encodedAs('CHUNKED'),
  'chunked between blanks': encodedAs('\tchunked '),
  'another coding, then chunked': encodedAs('gzip, chunked'),
  'codings in two headers': post(
    'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n',
    `${chunk(body)}0\r\n\r\n`,
  ),
  'empty lines before': `\r\n\r\n${get('GET /first HTTP/1.1')}`,
  'a body of GET': get('GET /first HTTP/1.1', `Content-Length: ${second.length}\r\n`) + second,
  HEAD: get('HEAD /first HTTP/1.1'),
  'an unknown expectation': get('GET /first HTTP/1.1', 'Expect: x\r\n'),
};

/** Requests that end their connection: RFC 9112, section 9.6. */
const last: Readonly<Record<string, string>> = {
  'Connection: close': get('GET /first HTTP/1.1', 'Connection: close\r\n'),
  'HTTP/1.0': get('GET /first HTTP/1.0'),
  'HTTP/0.9': get('GET /first'),
  'chunks in HTTP/1.0': post('Transfer-Encoding: chunked\r\n', `${chunk(body)}0\r\n\r\n`).replace('1.1', '1.0'),
  'an upgrade': get('GET /first HTTP/1.1', 'Connection: upgrade\r\nUpgrade: h2c\r\n'),
};

/** Bytes whose end can be told in two ways, or that are no HTTP/1.1: nothing behind them is a request. */
const unclear: Readonly<Record<string, string>> = {
  'chunks and a length': post(`Content-Length: 0\r\nTransfer-Encoding: chunked\r\n`, `${chunk(body)}0\r\n\r\n`),
  'a length behind chunks': post(`Transfer-Encoding: chunked\r\nContent-Length: ${length}\r\n`, `0\r\n\r\n${body}`),
  'two lengths': post(`Content-Length: 0\r\nContent-Length: ${length}\r\n`, body),
  'a length twice': post(`Content-Length: ${length}\r\nContent-Length: ${length}\r\n`, body),
  ...Object.fromEntries(
    [
      `${length}, ${length}`,
      `+${length}`,
      `-${length}`,
      `0x${length}`,
      `1_${length}`,
      `٣${length}`,
      `"${length}"`,
      `1e${length}`,
    ]
      .concat([
        `${length}.0`,
        `${length};`,
        `${length},`,
        `${length} 1`,
        `${length}\v`,
        `${length}x`,
        `${length}${'9'.repeat(30)}`,
      ])
      .map((value) => [`length ${JSON.stringify(value)}`, lengthOf(value)]),
  ),
  ...Object.fromEntries(
    [
      'identity',
      'gzip',
      'chunked, identity',
      'chunked, chunked',
      'xchunked',
      'chunked;q=1',
      '"chunked"',
      'chunked\v',
      '\vchunked',
      'chunked,',
    ].map((value) => [`encoding ${JSON.stringify(value)}`, encodedAs(value)]),
  ),
  ...Object.fromEntries(
    [`0x${hex}`, '-1', `+${hex}`, `${hex} `, '', 'F'.repeat(17), `${hex};a="\r\n"`, '5'].map((size) => [
      `chunk size ${JSON.stringify(size)}`,
      sized(size),
    ]),
  ),
  'an encoding on two lines': post('Transfer-Encoding:\r\n chunked\r\n', `${chunk(body)}0\r\n\r\n`),
  'a chunk size that ends with LF': chunked(`${hex}\n${body}\r\n0\r\n\r\n`),
  'a chunk without its end': chunked(`${hex}\r\n${body}0\r\n\r\n`),
  'a last chunk that ends with LF': chunked(`${chunk(body)}0\n\n`),
  'a length in a trailer': chunked(`${chunk(body)}0\r\nContent-Length: 5\r\n\r\n`),
  'a trailer that is none': chunked(`${chunk(body)}0\r\nX Y: 5\r\n\r\n`),
  'a blank before a colon': post(`Content-Length : ${length}\r\n`, body),
  'a blank before a name': post(` Content-Length: ${length}\r\n`, body),
  'a folded header': post(`X: a\r\n Content-Length: ${length}\r\n`, ''),
  'NUL in a name': post(`Content\0Length: ${length}\r\n`, ''),
  'NUL in a value': post('X: a\0b\r\n', ''),
  'no colon': post(`Content-Length ${length}\r\n`, ''),
  'no name': post(`: ${length}\r\n`, ''),
  'a bare CR': post(`X: a\rContent-Length: ${length}\r\n`, body),
  'a bare LF': post(`X: a\nContent-Length: ${length}\r\n`, body),
  'lines that end with LF': get('GET /first HTTP/1.1').replaceAll('\r\n', '\n'),
  'lines that end with CR': get('GET /first HTTP/1.1').replaceAll('\r\n', '\r'),
  ...Object.fromEntries(
    [
      'GET\t/first\tHTTP/1.1',
      'GET /first /x HTTP/1.1',
      'get /first HTTP/1.1',
      'GET /first http/1.1',
      'GET /first HTTP/1.10',
    ].map((line) => [JSON.stringify(line), get(line)]),
  ),
  'the preface of HTTP/2': `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${second}`,
  'a greeting of TLS': `\x16\x03\x01\x02\x00\x01\x00\x01${second}`,
};

const onFault = (fault: unknown): void => {
  throw new Error('a fault', { cause: fault });
};
const metrics = { text: () => Promise.resolve('x 1\n'), contentType: 'text/plain' };

/** Each server, and the targets that it answered. */
const servers: Readonly<Record<string, () => Promise<{ readonly port: number; readonly targets?: () => string[] }>>> = {
  'the server': async () => {
    const { server, accesses } = await startedServer();
    return { port: server.port, targets: () => accesses.flatMap(({ target }) => (target === '' ? [] : [target])) };
  },
  'the service': async () => {
    const apiServer = await startApiServer({ backend: arrayBackend([]), clock: systemClock, allowedHosts: [] });
    onTestFinished(() => apiServer.close());
    return apiServer;
  },
  metrics: async () => {
    const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0, clock: systemClock, onFault });
    onTestFinished(() => {
      server.close();
    });
    return { port: Number(new URL(server.address).port) };
  },
};

describe.each(Object.entries(servers))('%s', (_, start) => {
  const exchanged = async (bytes: string) => {
    const { port, targets } = await start();
    const statuses = statusesOf(await exchange(port, Buffer.from(bytes, 'latin1')));
    return { statuses, targets: targets?.() };
  };

  test.each(Object.entries(whole))('%s: both requests are answered', async (_name, bytes) => {
    const { statuses, targets } = await exchanged(bytes);
    expect(statuses).toHaveLength(2);
    expect(statuses).not.toContain(400);
    if (targets !== undefined) expect(targets).toEqual(['/first', '/second']);
  });

  test.each(Object.entries(last))('%s: the first request is answered, and no other', async (_name, bytes) => {
    const { statuses, targets } = await exchanged(bytes);
    expect(statuses).toHaveLength(1);
    expect(statuses).not.toContain(400);
    if (targets !== undefined) expect(targets).toEqual(['/first']);
  });

  test.each(Object.entries(unclear))('%s: refused, and nothing behind it is a request', async (_name, bytes) => {
    const { statuses, targets } = await exchanged(bytes);
    expect(statuses.at(-1)).toBe(400);
    expect(statuses.length).toBeLessThanOrEqual(2);
    if (targets !== undefined) expect(['/first', undefined]).toContain(targets.at(-1));
  });
});

test('bytes that are no request are refused behind the answer that was waited for, not in its place', async () => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { server } = await startedServer({ answer: () => gate.then(() => answered('"late"')) });
  const socket = await socketTo(server.port);
  const chunks: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => chunks.push(bytes));
  socket.write('GET /first HTTP/1.1\r\nHost: localhost\r\n\r\nno HTTP\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  open();
  await once(socket, 'close');
  expect(statusesOf(Buffer.concat(chunks).toString())).toEqual([200, 400]);
});
