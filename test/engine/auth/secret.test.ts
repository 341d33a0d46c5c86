import fc from 'fast-check';
import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret, Redaction } from '../../../src/engine/auth/secret.js';
import { isSecure, isTokenAddress } from '../../../src/engine/http/address.js';

const text = 'Atzr|hidden-well-enough-0451';

test('every way of writing a secret out hides it, but for the one that says so', () => {
  const secret = new Secret(text);
  const object = { nested: [secret] };
  const written = [
    String(secret),
    secret.toString(),
    JSON.stringify(object),
    inspect(object, { depth: 9, showHidden: true }),
    inspect(new Error('x', { cause: object }), { showHidden: true }),
    format('%s %o %O %j', secret, secret, secret, secret),
    JSON.stringify(structuredClone(object)),
    Object.keys(secret).join(),
  ];
  for (const one of written) expect(one).not.toContain('hidden');
  expect(written[0]).toBe('[secret]');
  expect(secret.reveal()).toBe(text);
});

test.each([
  ['https://api.amazon.com/auth/o2/token', true],
  ['http://127.0.0.1:8080/t', true],
  ['http://127.255.0.9/t', true],
  ['http://127.1/t', true],
  ['http://[::1]:80/t', true],
  ['http://localhost:1/t', true],
  ['http://api.amazon.com/auth/o2/token', false],
  ['http://127.0.0.1.example.com/t', false],
  ['http://localhost.example.com/t', false],
  ['http://0.0.0.0/t', false],
  ['http://[::ffff:127.0.0.1]/t', false],
  ['http://user@10.0.0.1/t', false],
  ['ftp://127.0.0.1/t', false],
])('%s: secure %s', (address, secure) => {
  expect(isSecure(new URL(address))).toBe(secure);
  expect(isTokenAddress(address)).toBe(secure);
});

test('an address that holds more than a place is no token endpoint', () => {
  for (const address of ['https://u:p@h/t', 'https://u@h/t', 'https://h/t?a=1', 'https://h/t#a', 'h/t', '']) {
    expect(isTokenAddress(address)).toBe(false);
  }
});

test('http leads to loopback only', () => {
  fc.assert(
    fc.property(fc.webUrl({ validSchemes: ['http'] }), (address) => {
      expect(isSecure(new URL(address))).toBe(false);
    }),
  );
});

test('a secret is taken out of bytes, and the rest stays as it is', () => {
  // A backslash before the secret may be an escape of its first character, and goes with it.
  const piece = fc
    .uint8Array({ maxLength: 20 })
    .filter((bytes) => bytes.at(-1) !== 0x5c)
    .map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
      const join = (between: string): Buffer =>
        Buffer.concat(pieces.flatMap((bytes, at) => (at === 0 ? [bytes] : [Buffer.from(between), bytes])));
      expect(Buffer.compare(new Redaction([text]).bytes(join(text)), join('[secret]'))).toBe(0);
    }),
  );
  const untouched = Buffer.from('{"a":1}');
  expect(new Redaction([text]).bytes(untouched)).toBe(untouched);
  expect(new Redaction(['', undefined]).bytes(untouched)).toBe(untouched);
});

/** Each makes a pattern anew. */
const few = { numRuns: 30 };

const anySecret = fc.stringMatching(/^[\x21-\x7e]{8,60}$/);

/** How programs write out what they were sent. */
const writings: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'in a URL': encodeURIComponent,
  'in a URL, small letters': (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (escape) => escape.toLowerCase()),
  'in a URL twice': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'every byte in a URL': (secret) => Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&'),
  'in a form': (secret) => new URLSearchParams([['t', secret]]).toString().slice(2),
  'in JSON': (secret) => JSON.stringify(secret).slice(1, -1),
  'in JSON, slashes escaped': (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
  'in JSON, all escaped': (secret) => Buffer.from(secret).toString('hex').replaceAll(/../g, '\\u00$&'),
  'in HTML': (secret) => secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  'in HTML, by number': (secret) => Array.from(Buffer.from(secret), (byte) => `&#${byte};`).join(''),
  'in base64': (secret) => Buffer.from(secret).toString('base64').replace(/=*$/, ''),
  'in base64url': (secret) => Buffer.from(secret).toString('base64url'),
  'in base64, escaped as in URLs': (secret) => encodeURIComponent(Buffer.from(secret).toString('base64')),
  'in hex': (secret) => Buffer.from(secret).toString('hex'),
};

test.each(Object.entries(writings))('a secret is taken out of what quotes it %s', (_, write) => {
  fc.assert(
    fc.property(anySecret, (secret) => {
      const redaction = new Redaction([secret]);
      const written = write(secret);
      const quoted = Buffer.from(`{"message":"${written}; no"}`);
      const left = Buffer.from(redaction.bytes(quoted)).toString();
      expect(left).toContain('[secret]');
      // Of base64 the last character, which holds a few of its bits, and what fills it up.
      expect(left.replace(/^.*\[secret\]/, '').length).toBeLessThanOrEqual('E%3D%3D; no"}'.length);
      expect(redaction.headers(new Map([['x-amzn-requestid', written]])).get('x-amzn-requestid')).toMatch(
        /^\[secret\].{0,7}$/,
      );
    }),
    { ...few, examples: [['\\0"!!!!!!!!'], ['!!!%0\\0!'], ['!!!!!!\\\\'], ['&__proto__;']] },
  );
});

test.each(['in JSON', 'in JSON, slashes escaped', 'in JSON, all escaped'])('a page repeats a secret %s', (writing) => {
  fc.assert(
    fc.property(anySecret, (secret) => {
      const page = (value: string) => Buffer.from(`{"a":"\\u0041\\/","b":"${value}"}`);
      expect(new Redaction([secret]).isIn(page(writings[writing]?.(secret) ?? ''))).toBe(true);
      expect(new Redaction([secret]).isIn(page('another'))).toBe(false);
    }),
    few,
  );
});

test('a secret is taken out of base64 of a longer text, wherever it begins there', () => {
  fc.assert(
    fc.property(anySecret, fc.string(), fc.string(), (secret, before, behind) => {
      const quoted = Buffer.from(Buffer.from(`${before}${secret}${behind}`).toString('base64'));
      const redaction = new Redaction([secret]);
      expect(redaction.isIn(quoted)).toBe(true);
      const left = Buffer.from(redaction.bytes(quoted)).toString();
      expect(left).toContain('[secret]');
      expect(Buffer.from(left.replaceAll('[secret]', ''), 'base64').toString()).not.toContain(secret.slice(1, -1));
    }),
    few,
  );
});

test('what has nothing of a secret stays as it is', () => {
  fc.assert(
    fc.property(anySecret, fc.base64String(), (secret, text) => {
      fc.pre(!text.includes(secret));
      const body = Buffer.from(`{"a":"${text}"}`);
      const redaction = new Redaction([secret]);
      if (!redaction.isIn(body)) expect(redaction.bytes(body)).toBe(body);
    }),
    few,
  );
});

/** How programs quote the user and the password that they were sent in base64. */
const quotes: readonly ((user: string, password: string) => string)[] = [
  (_, password) => `wrong password ${password}`,
  (user, password) => `no such login ${user}:${password}`,
  (user, password) => `no such login ${encodeURIComponent(`${user}:${password}`)}`,
  (_, password) => `no such password ${JSON.stringify(password)}`,
  (user, password) => `bad header Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
];

test('the password of Basic authorization is found however it is quoted: decoded, too', () => {
  const user = fc.stringMatching(/^[a-z]{1,12}$/);
  const password = fc.stringMatching(/^[\x21-\x5b\x5d-\x7e]{8,30}$/);
  const configured = fc.constantFrom('', 'Basic ', 'basic  ');
  fc.assert(
    fc.property(user, password, configured, fc.constantFrom(...quotes), (name, secret, scheme, quote) => {
      const redaction = new Redaction([scheme + Buffer.from(`${name}:${secret}`).toString('base64')]);
      const answer = Buffer.from(`{"error":"${quote(name, secret)}"}`);
      expect(redaction.isIn(answer)).toBe(true);
      const left = Buffer.from(redaction.bytes(answer)).toString();
      expect(left).toContain('[secret]');
      expect(left).not.toContain(secret);
    }),
    few,
  );
  // What is no login has no password.
  const ordinary = Buffer.from('{"a":"hidden-well-enough-0451"}');
  expect(new Redaction(['Atzr:hidden-well-enough-0451', text]).bytes(ordinary)).toBe(ordinary);
});

test('a secret that is sent in base64 after it was escaped as in URLs is found', () => {
  const secret = 'hidden/well+enough=0451';
  const login = Buffer.from(`client:${encodeURIComponent(secret)}`).toString('base64');
  expect(new Redaction([secret]).isIn(Buffer.from(`{"authorization":"Basic ${login}"}`))).toBe(true);
});

test('a long token is found in a long answer that resembles it, and all of it', () => {
  const token = `${'A'.repeat(7_999)}B`;
  const answer = Buffer.from(`{"a":"${'A'.repeat(1_000_000)}","b":"${token}","c":"${encodeURIComponent(token)}"}`);
  const redaction = new Redaction([token]);
  const left = Buffer.from(redaction.bytes(answer)).toString();
  expect(left).toBe(`{"a":"${'A'.repeat(1_000_000)}","b":"[secret]","c":"[secret]"}`);
  const escaped = Buffer.from('A'.repeat(400_000) + token.replaceAll('A', '\\u0041').replaceAll('B', '%42'));
  expect(Buffer.from(redaction.bytes(escaped)).toString()).toBe(`${'A'.repeat(400_000)}[secret]`);
});
