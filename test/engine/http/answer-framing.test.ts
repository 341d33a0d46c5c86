import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { createTransport } from '../../../src/engine/http/transport.js';

const page = '{"payload":{"FinancialEvents":{}}}';
const other = '{"payload":{"FinancialEvents":{"X":[1]}}}';
const length = page.length;
const hex = length.toString(16);
const answer = (headers: string, content = page, status = 'HTTP/1.1 200 OK'): string =>
  `${status}\r\n${headers}\r\n${content}`;
const chunk = (content: string, size = content.length.toString(16)): string => `${size}\r\n${content}\r\n`;
const chunked = (content: string, encoding = 'chunked'): string =>
  answer(`Transfer-Encoding: ${encoding}\r\n`, content);
const smuggled = answer(`Content-Length: ${other.length}\r\n`, other);

const sized = (size: string): string => chunked(`${chunk(page, size)}0\r\n\r\n`);
const whole = answer(`Content-Length: ${length}\r\n`);
const lined = (line: string): string => answer(`Content-Length: ${length}\r\n`, page, line);
const long = (value: string): string => answer(`Content-Length:${value}\r\n`);

/** Answers whose page arrives: RFC 9112, sections 4, 6.3 and 7.1; RFC 9110, section 15.2. */
const complete: Readonly<Record<string, string>> = {
  'a length': whole,
  chunks: chunked(`${chunk(page)}0\r\n\r\n`),
  'chunks with an extension': chunked(`${hex};a=b\r\n${page}\r\n0\r\n\r\n`),
  'chunks with a trailer': chunked(`${chunk(page)}0\r\nX: y\r\n\r\n`),
  'the end of the connection': answer('Connection: close\r\n'),
  'the end of the connection, not announced': answer(''),
  'HTTP/1.0': answer('', page, 'HTTP/1.0 200 OK'),
  'an encoding other than chunked, to the end of the connection': chunked(page, 'identity'),
  'no reason': lined('HTTP/1.1 200'),
  'interim answers': `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${whole}`,
  'empty lines before': `\r\n\r\n${whole}`,
  'another answer behind': whole + smuggled,
  'another answer behind the last': answer(`Content-Length: ${length}\r\nConnection: close\r\n`, page + smuggled),
};

/** Answers that have no end, or two, or are no HTTP/1.1. */
const unclear: Readonly<Record<string, string>> = {
  'a length beyond the bytes': long(`${length + 5}`),
  'two lengths': answer(`Content-Length: 5\r\nContent-Length: ${length}\r\n`),
  'a length twice': answer(`Content-Length: ${length}\r\nContent-Length: ${length}\r\n`),
  ...Object.fromEntries(
    [`${length}, ${length}`, `+${length}`, '-1', `0x${hex}`, '9'.repeat(30), '', `${length} 1`, `${length}x`].map(
      (value) => [`length ${JSON.stringify(value)}`, long(value)],
    ),
  ),
  'a length and chunks': answer('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `${chunk(page)}0\r\n\r\n`),
  'chunks and a length': answer('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `${chunk(page)}0\r\n\r\n`),
  'chunks without the last': chunked(chunk(page)),
  'a chunk that is cut off': chunked(`${hex}\r\n${page.slice(0, 5)}`),
  'a chunk that ends with LF': chunked(`${hex}\n${page}\r\n0\r\n\r\n`),
  ...Object.fromEntries(
    ['5', `0x${hex}`, 'F'.repeat(17), '-1', ''].map((size) => [`chunk size ${JSON.stringify(size)}`, sized(size)]),
  ),
  'a length in a trailer': chunked(`${chunk(page)}0\r\nContent-Length: 5\r\n\r\n`),
  'a blank before a colon': answer('Content-Length : 5\r\n'),
  'a folded header': answer('X: a\r\n Content-Length: 5\r\n'),
  'lines that end with LF': whole.replaceAll('\r\n', '\n'),
  'a bare CR': answer(`X: a\rContent-Length: 5\r\nContent-Length: ${length}\r\n`),
  NUL: answer(`X: a\0b\r\nContent-Length: ${length}\r\n`),
  'a body of 204': lined('HTTP/1.1 204 No Content'),
  'a change of protocol': answer('Upgrade: h2c\r\nConnection: upgrade\r\n', page, 'HTTP/1.1 101 Switching Protocols'),
  ...Object.fromEntries(
    [
      'HTTP/1.1 99 X',
      'HTTP/1.1 1000 X',
      'HTTP/1.1 +200 X',
      'HTTP/1.2 200 X',
      'ICY 200 OK',
      ' HTTP/1.1 200 OK',
      'HTTP/1.1200 OK',
    ].map((line) => [JSON.stringify(line), lined(line)]),
  ),
  'no HTTP': page,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
};

/** A server that has these bytes for each request, and ends the connection. */
async function answering(bytes: string): Promise<{ readonly origin: string; readonly requests: () => number }> {
  let requests = 0;
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', () => {
        requests++;
        socket.end(Buffer.from(bytes, 'latin1'));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

/** What two requests get, one after the other. */
async function requested(bytes: string): Promise<{ readonly got: unknown[]; readonly requests: number }> {
  const { origin, requests } = await answering(bytes);
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const { signal } = new AbortController();
  const got: unknown[] = [];
  for (let times = 0; times < 2; times++) {
    got.push(
      await transport.send({ origin, path: '/', headers: {}, signal }).then(
        ({ body }) => Buffer.from(body).toString('latin1'),
        (error: unknown) => error,
      ),
    );
  }
  return { got, requests: requests() };
}

test.each(Object.entries(complete))(
  '%s: the page arrives, and nothing behind it answers another request',
  async (_, bytes) => {
    expect(await requested(bytes)).toEqual({ got: [page, page], requests: 2 });
  },
);

test.each(Object.entries(unclear))('%s: no page', async (_, bytes) => {
  const { got } = await requested(bytes);
  for (const fault of got) {
    expect(fault).toBeInstanceOf(LedgerlakeError);
    expect(fault).toMatchObject({
      code: 'UPSTREAM_UNREACHABLE',
      message: expect.not.stringMatching(/[\0-\x1f]/) as string,
    });
  }
});

test.each([
  ['a length below the bytes', long('5'), page.slice(0, 5)],
  ['a length of 0', long('0'), ''],
  [
    'chunked that is not the last encoding',
    chunked(`${chunk(page)}0\r\n\r\n`, 'chunked, identity'),
    `${chunk(page)}0\r\n\r\n`,
  ],
])('%s: the bytes up to the end that it states, which are no page', async (_, bytes, expected) => {
  expect(await requested(bytes)).toEqual({ got: [expected, expected], requests: 2 });
});
