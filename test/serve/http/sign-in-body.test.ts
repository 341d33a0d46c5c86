import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSignInBody } from '../../../src/serve/http/sign-in.js';

const form = 'application/x-www-form-urlencoded';
const json = 'application/json; charset=utf-8';
const read = (text: string, type: string) => readSignInBody(Buffer.from(text), type);

const texts = fc.string({ unit: 'grapheme', minLength: 1 });
const members = fc.uniqueArray(fc.tuple(texts, texts), { selector: ([name]) => name });

test('the same parameters come out of a form and of JSON', () => {
  fc.assert(
    fc.property(members, (pairs) => {
      const expected = new Map(pairs);
      expect(read(new URLSearchParams(pairs).toString(), form)).toEqual(expected);
      // Not through an object, which would put numbers first and lose `__proto__`.
      const object = pairs.map((pair) => pair.map((text) => JSON.stringify(text)).join(':')).join(',');
      const got = read(`{${object}}`, json);
      expect(got).toBeInstanceOf(Map);
      expect(new Map(got as Map<string, string>)).toEqual(expected);
    }),
  );
});

test('any bytes are read or refused, in words that hold nothing of them', () => {
  const types = fc.constantFrom(form, json, '', 'text/plain');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), types, (bytes, type) => {
      const body = readSignInBody(Buffer.from(bytes), type);
      if (!('fault' in body)) expect([...body.values()]).not.toContain('');
      else expect(body.fault).toMatch(/^The (body|request) [a-zA-Z ]+$/);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['{"grant_type":"x"}', ''],
  [' {"grant_type":"x"}', 'text/plain'],
  ['grant_type=x', ''],
  ['grant_type=x&client_id=', form],
])('%j of type %j', (text, type) => {
  expect(read(text, type)).toEqual(new Map([['grant_type', 'x']]));
});

test.each([
  ['a=1&a=2', form],
  ['{', json],
  ['', json],
  ['[]', json],
  ['null', json],
  ['"text"', json],
  ['{"a":1}', json],
  ['{"a":{"b":"c"}}', json],
])('%j of type %j is refused', (text, type) => {
  expect(read(text, type)).toHaveProperty('fault');
});
