import fc from 'fast-check';

/** Targets that a parser of addresses may stumble over. */
export const oddTargets: readonly string[] = [
  ...[
    '//',
    '///',
    '//evil.example',
    '*',
    '/',
    '/%',
    '/%00',
    '/%zz',
    '/%c3%28',
    '/..',
    '/../../etc/passwd',
    '/?',
    '/#',
    '?',
  ],
  ...[
    'http://',
    'http:///',
    'http://[',
    'http://[::1',
    'http://:99999/',
    'http://localhost:x/',
    'HTTP://localhost/metrics',
  ],
  ...[
    'https://user:secret@localhost/',
    'localhost:80',
    ':80',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '\\\\',
    '/\\..\\',
  ],
  ...[
    '/finances/v0/orders/%00/financialEvents',
    '/finances/v0/orders//financialEvents',
    '/finances/v0/financialEvents?%',
  ],
  ...['/finances/v0/financialEvents?__proto__=1', '/finances/v0/financialEvents?&&&=&=', `/${'x'.repeat(10_000)}`],
  ...[`/${'%41'.repeat(20_000)}`, `/?${'a=b&'.repeat(5_000)}`, `//${'/'.repeat(5_000)}`],
];

const get = (target: string, headers = 'Host: localhost\r\n', version = '1.1', method = 'GET') =>
  `${method} ${target} HTTP/${version}\r\n${headers}\r\n`;

const text = (unit: NonNullable<fc.StringConstraints['unit']>, most: number) => fc.string({ unit, maxLength: most });

/** Bytes that a client may send, by what they try. */
export const hostileRequests: Readonly<Record<string, fc.Arbitrary<Buffer>>> = {
  'random bytes': fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
  'odd targets': fc
    .tuple(
      fc.constantFrom(...oddTargets),
      fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'CONNECT', 'DELETE', 'TRACE'),
    )
    .map(([target, method]) => Buffer.from(get(target, undefined, '1.1', method))),
  'made-up targets': text('binary', 300).map((target) => Buffer.from(get(target), 'utf8')),
  'made-up headers': fc
    .array(fc.tuple(text('grapheme-ascii', 30), text('binary', 100)), { maxLength: 20 })
    .map((headers) =>
      Buffer.from(get('/', headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')), 'latin1'),
    ),
  'two lengths': fc
    .tuple(
      fc.nat(50),
      text('grapheme-ascii', 60),
      fc.constantFrom('chunked', ' chunked', 'xchunked', 'chunked, identity'),
    )
    .map(([length, body, encoding]) =>
      Buffer.from(
        get('/', `Host: localhost\r\nContent-Length: ${length}\r\nTransfer-Encoding: ${encoding}\r\n`, '1.1', 'POST') +
          `${body}\r\n0\r\n\r\n${get('/smuggled')}`,
      ),
    ),
  'lengths that are none': fc
    .constantFrom('-1', '1e3', '0x10', '99999999999999999999', '1, 2', '', '+5', ' 5 5')
    .map((length) =>
      Buffer.from(get('/', `Host: localhost\r\nContent-Length: ${length}\r\n`, '1.1', 'POST') + 'hello'),
    ),
  'other versions': fc
    .tuple(fc.constantFrom('0.9', '1.0', '1.2', '2.0', '3', ''), fc.boolean())
    .map(([version, host]) => Buffer.from(get('/', host ? 'Host: localhost\r\n' : '', version))),
  upgrades: fc
    .constantFrom('websocket', 'h2c', 'TLS/1.0', '\u0001')
    .map((to) => Buffer.from(get('/', `Host: localhost\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n`) + get('/after'))),
  pipelined: fc
    .tuple(fc.integer({ min: 2, max: 300 }), fc.constantFrom('/', '/metrics', '/healthz', '//'))
    .map(([count, target]) => Buffer.from(get(target).repeat(count))),
  'cut within a body': fc
    .tuple(fc.nat(100), fc.constantFrom('/auth/o2/token', '/', '//'))
    .map(([sent, target]) =>
      Buffer.from(`${get(target, 'Host: localhost\r\nContent-Length: 1000\r\n', '1.1', 'POST')}${'x'.repeat(sent)}`),
    ),
  'broken chunks': text('grapheme-ascii', 100).map((chunks) =>
    Buffer.from(get('/', 'Host: localhost\r\nTransfer-Encoding: chunked\r\n', '1.1', 'POST') + chunks),
  ),
  'changed bytes': fc
    .tuple(fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 6 }), fc.constantFrom('/metrics', '//', '/healthz'))
    .map(([changes, target]) => {
      const bytes = Buffer.from(get(target));
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    }),
};
