import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scan } from '../../../src/core/json/scan.js';
import { maxDepth, mostNodes, Tape } from '../../../src/core/json/tape.js';
import { brokenBytes, brokenJsonText, jsonText } from '../../reference/arbitraries.js';
import { hasLoneSurrogateInKey, outcome, parsedBytes, parsedText, tapeValue } from '../../reference/json-values.js';

function scanned(bytes: Uint8Array): Tape {
  const tape = new Tape();
  scan(bytes, tape);
  return tape;
}

describe('beside JSON.parse', () => {
  test('valid documents give the same values', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        fc.pre(!hasLoneSurrogateInKey(text));
        const tape = scanned(Buffer.from(text));
        expect(tapeValue(tape, 0)).toEqual(parsedText(text));
      }),
      { numRuns: 3000 },
    );
  });

  test('broken documents are refused, or give the same values', () => {
    fc.assert(
      fc.property(brokenJsonText, (text) => {
        fc.pre(text.isWellFormed());
        const expected = outcome(() => parsedText(text));
        fc.pre(expected === 'refused' || !hasLoneSurrogateInKey(text));
        expect(outcome(() => tapeValue(scanned(Buffer.from(text)), 0))).toEqual(expected);
      }),
      { numRuns: 6000 },
    );
  });

  test('short texts of the characters that matter', () => {
    const unit = fc.constantFrom(...'{}[]:,"\\/ue0123-+.tfnrals \n\t\u0000\u00a0'.split(''));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        expect(outcome(() => tapeValue(scanned(Buffer.from(text)), 0))).toEqual(outcome(() => parsedText(text)));
      }),
      { numRuns: 20_000 },
    );
  });

  test('nodes are the bytes of their values', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const tape = scanned(Buffer.from(text));
        expect(tape.text(0)).toBe(text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ''));
        for (let node = 0; node < tape.length; node++)
          expect(() => JSON.parse(tape.text(node)) as unknown).not.toThrow();
      }),
      { numRuns: 1000 },
    );
  });
});

describe('bytes that are no JSON', () => {
  test('invalid UTF-8 is refused, wherever a decoder would refuse it', () => {
    fc.assert(
      fc.property(brokenBytes, (bytes) => {
        const expected = outcome(() => parsedBytes(bytes));
        expect(outcome(() => tapeValue(scanned(bytes), 0))).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    [Buffer.of(0x22, 0x61, 0xff, 0x22), 'expected UTF-8, found the byte 0xff at byte 2'],
    [Buffer.of(0x22, 0xc3, 0xa4, 0xed, 0xa0, 0x80, 0x22), 'expected UTF-8, found the byte 0xed at byte 3'],
    [Buffer.from('\ufeff{}'), 'byte order mark at byte 0'],
    [Buffer.from('{"a":1 , }'), 'expected no comma before "}", found one at byte 7'],
    [Buffer.from('[1,]'), 'expected no comma before "]", found one at byte 2'],
    [Buffer.from('[,1]'), 'expected a value, found "," at byte 1'],
    [Buffer.from('{"a":}'), 'expected a value, found "}" at byte 5'],
    [Buffer.from('[1 2]'), "expected ',' or ']', found \"2\" at byte 3"],
    [Buffer.from('{"a"'), "expected ':', found the end at byte 4"],
    [Buffer.from('"a\nb"'), 'control character, found "\\n" at byte 2'],
    [Buffer.from('"a'), "expected a closing '\"', found the end at byte 2"],
    [Buffer.from('"\\u12g4"'), 'four hexadecimal digits behind \\u, found "g" at byte 5'],
    [Buffer.from('01'), 'expected the end, found "1" at byte 1'],
    [Buffer.from('[€]'), 'expected a value, found "€" at byte 1'],
    [Buffer.from(''), 'expected a value, found the end at byte 0'],
  ])('%o is refused with the place and what was expected', (bytes, message) => {
    expect(() => scanned(bytes)).toThrow(message);
  });
});

test('nesting is taken to the stated depth and no further', () => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  expect(scanned(nested(maxDepth)).length).toBe(maxDepth);
  expect(() => scanned(nested(maxDepth + 1))).toThrow(`nesting of at most ${maxDepth}`);
});

test('a tape can be filled again', () => {
  const tape = new Tape();
  scan(Buffer.from(JSON.stringify(Array.from({ length: 5000 }, (_, n) => n))), tape);
  scan(Buffer.from('{"a":"b"}'), tape);
  expect(tape.length).toBe(3);
  expect(tapeValue(tape, 0)).toEqual({ a: 'b' });
});

test('keys that differ only in lone surrogates stay two', () => {
  const tape = scanned(Buffer.from('{"\\ud800":1,"\\ud801":2}'));
  tape.shadowKeys(0);
  expect([...tape.keys(0)]).toHaveLength(2);
});

test('a text of more values than are held is refused, however it nests them', () => {
  const dense = Buffer.alloc(2 * mostNodes + 2, '0,');
  dense[0] = 0x5b;
  dense[1] = 0x30;
  for (let at = 2; at < dense.length - 1; at++) dense[at] = at % 2 === 0 ? 0x2c : 0x30;
  dense[dense.length - 1] = 0x5d;
  expect(() => {
    scan(dense, new Tape());
  }).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }) as Error);
  expect(() => {
    scan(Buffer.alloc(32 * 1024 * 1024, '['), new Tape());
  }).toThrow(/nesting of at most/);
});
