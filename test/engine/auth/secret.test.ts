import fc from 'fast-check';
import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../../../src/engine/auth/secret.js';
import { isSecure, isTokenAddress } from '../../../src/engine/auth/secure-address.js';
import { withoutSecret } from '../../../src/engine/auth/without-secret.js';

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
  const piece = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
      const join = (between: string): Buffer =>
        Buffer.concat(pieces.flatMap((bytes, at) => (at === 0 ? [bytes] : [Buffer.from(between), bytes])));
      expect(Buffer.compare(withoutSecret(join(text), text), join('[secret]'))).toBe(0);
    }),
  );
  const untouched = Buffer.from('{"a":1}');
  expect(withoutSecret(untouched, text)).toBe(untouched);
  expect(withoutSecret(untouched, '')).toBe(untouched);
});
