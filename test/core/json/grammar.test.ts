import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { scan } from '../../../src/core/json/scan.js';
import { maxDepth, Tape } from '../../../src/core/json/tape.js';
import { grammarClasses, tokenSequences, type GrammarCase } from '../../reference/json-grammar.js';
import { hasLoneSurrogateInKey, outcome, parsedBytes, tapeValue } from '../../reference/json-values.js';

/** What the scanner and JSON.parse make of a case. Deeper nesting than the limit is refused, whatever JSON.parse says. */
function outcomes({ bytes, depth = 0 }: GrammarCase): { readonly got: unknown; readonly expected: unknown } {
  const tape = new Tape();
  const got = outcome(() => {
    scan(bytes, tape);
    return tapeValue(tape, 0);
  });
  return { got, expected: depth > maxDepth ? 'refused' : outcome(() => parsedBytes(bytes)) };
}

test.each(Object.entries(grammarClasses))('%s: the scanner accepts and reads what JSON.parse does', (_, cases) => {
  const differing = cases.flatMap((one) => {
    const { got, expected } = outcomes(one);
    const isOneKeyOfTwo =
      expected !== 'refused' && one.depth === undefined && hasLoneSurrogateInKey(one.bytes.toString());
    return isOneKeyOfTwo || isDeepStrictEqual(got, expected) ? [] : [{ name: one.name, got, expected }];
  });
  expect(differing).toEqual([]);
});

test('every sequence of at most five tokens is accepted or refused as by JSON.parse', () => {
  const tape = new Tape();
  let accepted = 0;
  const differing: string[] = [];
  for (const text of tokenSequences(5)) {
    const isAccepted = outcome(() => {
      scan(Buffer.from(text), tape);
    });
    if (isAccepted !== 'refused') accepted++;
    if ((isAccepted === 'refused') !== (outcome(() => JSON.parse(text) as unknown) === 'refused')) differing.push(text);
  }
  expect(differing).toEqual([]);
  expect(accepted).toBe(22);
});
