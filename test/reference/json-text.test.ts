import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { brokenBytes, brokenJsonText, jsonText, stringText } from './arbitraries.js';
import { parseJsonBytes, parseJsonText, plainOf, type JsonNode } from './json-text.js';

/** What a parser makes of a text: its value, or that it refuses it. */
function outcome(parse: (text: string) => unknown, text: string): { value: unknown } | 'refused' {
  try {
    return { value: parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused';
    throw error;
  }
}

function agreesWithJsonParse(text: string): boolean {
  return isDeepStrictEqual(
    outcome((input) => plainOf(parseJsonText(input)), text),
    outcome((input) => JSON.parse(input) as unknown, text),
  );
}

/** The same document written from the places of its parts. */
function rewritten(text: string, node: JsonNode): unknown {
  if (node.type === 'array') return node.items.map((item) => rewritten(text, item));
  if (node.type === 'object') {
    return Object.fromEntries(node.members.map(({ key, value }) => [key, rewritten(text, value)]));
  }
  return JSON.parse(text.slice(node.start, node.end));
}

describe('the reference parser', () => {
  test('reads every valid document as JSON.parse does', () => {
    fc.assert(
      fc.property(jsonText, (text) => outcome(JSON.parse, text) !== 'refused' && agreesWithJsonParse(text)),
      { numRuns: 3000 },
    );
  });

  test('accepts and refuses broken documents as JSON.parse does', () => {
    fc.assert(fc.property(brokenJsonText, agreesWithJsonParse), { numRuns: 6000 });
  });

  test('accepts and refuses any text as JSON.parse does', () => {
    const unit = fc.constantFrom(
      ...Array.from('{}[]:,"\\/ue0123-+.tfnrals \n\t\u0000\u00a0\ufeff'),
      '\ud800',
      '\udc00',
    );
    fc.assert(fc.property(fc.string({ unit, maxLength: 12 }), agreesWithJsonParse), { numRuns: 6000 });
    fc.assert(fc.property(fc.string({ unit: 'binary' }), agreesWithJsonParse), { numRuns: 500 });
  });

  test('gives the place of every value', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const root = parseJsonText(text);
        expect(text.slice(root.start, root.end)).toBe(text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, ''));
        expect(isDeepStrictEqual(rewritten(text, root), JSON.parse(text))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test('keeps the text of numbers', () => {
    const root = parseJsonText(' [25.10, -0, 7E1, 12345678901234567890.000 ,1e400]');
    const texts = root.type === 'array' ? root.items.map((item) => (item.type === 'number' ? item.text : '')) : [];
    expect(texts).toEqual(['25.10', '-0', '7E1', '12345678901234567890.000', '1e400']);
  });

  test('lets the last of several members with one name win, in its own place', () => {
    const text = '{"a":1,"b":2,"\\u0061":3}';
    expect(parseJsonText(text)).toMatchObject({
      members: [
        { key: 'b', value: { text: '2' } },
        { key: 'a', value: { text: '3', start: text.length - 2, end: text.length - 1 } },
      ],
    });
  });

  test('says where a text is broken', () => {
    expect(() => parseJsonText('{"a":tru}')).toThrow('expected true at 5, found "tru}"');
    expect(() => parseJsonText('[1')).toThrow('expected , at 2, found the end of the text');
  });

  test('refuses bytes that are not UTF-8, and a byte order mark', () => {
    fc.assert(
      fc.property(brokenBytes, (bytes) => {
        expect(() => parseJsonBytes(bytes)).toThrow(TypeError);
      }),
      { numRuns: 2000 },
    );
    expect(() => parseJsonBytes(Buffer.from('\ufeff{}'))).toThrow(SyntaxError);
  });

  test('reads bytes as it reads their text', () => {
    fc.assert(
      fc.property(stringText, (text) => {
        expect(parseJsonBytes(Buffer.from(text))).toEqual(parseJsonText(text));
      }),
    );
  });
});
