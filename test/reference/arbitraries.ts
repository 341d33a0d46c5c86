import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';

/** Mostly none, at times some of each kind that JSON allows. */
export const whitespace: Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 4 }) },
);

const asciiPiece = fc.constantFrom('a', 'B', '7', '-', ' ', '.', '/', '[', ']', '{', '}', ':', ',', "'", '\u007f');
const rawPiece = fc.constantFrom(
  ...['é', 'ß', '€', '漢', '\u0080', '\u07ff', '\u0800', '\u2028', '\u2029', '\ud7ff', '\ue000', '\ufeff', '\uffff'],
  ...['😀', '𝄞', '\u{10000}', '\u{10ffff}', 'e\u0301', '👩‍👩‍👧'],
);
const shortEscape = fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t');
const hexEscape = fc.constantFrom(
  ...['\\u0000', '\\u001F', '\\u0022', '\\u005c', '\\u00e9', '\\u00E9', '\\u2028', '\\uFFFF', '\\ud83d\\ude00'],
  // Half a pair, a pair the wrong way round, a half before a raw character.
  ...['\\ud800', '\\uDFFF', '\\ude00\\ud83d', '\\ud83d\\ud83d\\ude00', '\\ud83d😀', '\\udbff\\u0041'],
);
const anyHexEscape = fc.nat(0xffff).map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`);

/** A JSON string's text, quotes included: raw characters of one to four bytes and every form of escape. */
export const stringText: Arbitrary<string> = fc
  .string({
    unit: fc.oneof(
      { weight: 8, arbitrary: asciiPiece },
      { weight: 3, arbitrary: rawPiece },
      { weight: 2, arbitrary: shortEscape },
      { weight: 2, arbitrary: hexEscape },
      { weight: 1, arbitrary: anyHexEscape },
    ),
    maxLength: 12,
  })
  .map((content) => `"${content}"`);

/** A name as the text of a JSON string, at times with one of its characters written as an escape. */
export function nameText(name: string): Arbitrary<string> {
  const plain = JSON.stringify(name);
  const escaped = fc.nat(Math.max(0, name.length - 1)).map((at) => {
    const code = name.charCodeAt(at);
    if (Number.isNaN(code)) return plain;
    const hex = `\\u${code.toString(16).padStart(4, '0')}`;
    return JSON.stringify(name.slice(0, at)).slice(0, -1) + hex + JSON.stringify(name.slice(at + 1)).slice(1);
  });
  return fc.oneof({ weight: 25, arbitrary: fc.constant(plain) }, { weight: 1, arbitrary: escaped });
}

const oddNumber = fc.constantFrom(
  ...[
    '0',
    '-0',
    '-0.00',
    '0E+0',
    '0e99999',
    '-0e-99999',
    '7E1',
    '1e-7',
    '25.10',
    '1.0000000',
    '-1.50',
    '1e400',
    '1e-400',
  ],
  ...[
    '12345678901234567890',
    '0.1234567',
    '0.123456',
    '100e-2',
    '1e-6',
    '1E-06',
    '0.000001e6',
    '1e18446744073709551616',
  ],
  // Either side of what DECIMAL(18,6) and 64-bit integers hold, and where doubles begin to lie.
  ...['999999999999.999999', '-999999999999.999999', '999999999999.9999990', '999999999999.9999991', '1000000000000'],
  ...['1e12', '1e11', '9.99999999999999999e11', '0.1e13', '9223372036854775807', '9223372036854775808', '9e18', '1e19'],
  ...[
    '-9223372036854775808',
    '-9223372036854775809',
    '9007199254740993',
    '9007199254.740993',
    '0.1',
    '0.30000000000000004',
  ],
);
const digits = fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: 1, maxLength: 22 });
const builtNumber = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits.map((text) => text.replace(/^0+(?=.)/, '')),
    fc.option(digits, { nil: undefined }),
    fc.option(
      fc.tuple(
        fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'),
        digits.map((text) => text.slice(0, 3)),
      ),
      { nil: undefined },
    ),
  )
  .map(([sign, whole, fraction, exponent]) =>
    [sign, whole, fraction === undefined ? '' : `.${fraction}`, exponent?.join('') ?? ''].join(''),
  );

/** A JSON number in any legal spelling. */
export const numberText: Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: oddNumber },
  { weight: 1, arbitrary: builtNumber },
  { weight: 2, arbitrary: fc.integer({ min: -99999, max: 99999 }).map((cents) => (cents / 100).toFixed(2)) },
);

/** A string that is a number of JSON's grammar, at times with an escape in it; or one that just isn't. */
export const amountInText: Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: numberText.chain(nameText) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[
        '"10.00"',
        '"-1e2"',
        '"0.30000000000000004"',
        '"\\u0031.5"',
        '"+1"',
        '"01"',
        '" 1"',
        '"1 "',
        '"1,00"',
        '"0x1"',
      ],
      ...[
        '""',
        '"-"',
        '".5"',
        '"5."',
        '"1e"',
        '"1e+"',
        '"-01"',
        '"1_000"',
        '"NaN"',
        '"Infinity"',
        '"１"',
        '"1\\u0000"',
      ],
    ),
  },
);

/** null, a boolean, a number or a string. */
export const scalarText: Arbitrary<string> = fc.oneof(fc.constantFrom('null', 'true', 'false'), numberText, stringText);

const spaced = (text: Arbitrary<string>): Arbitrary<string> =>
  fc.tuple(whitespace, text, whitespace).map((parts) => parts.join(''));

/** The text of an array. */
export function arrayText(items: Arbitrary<readonly string[]>): Arbitrary<string> {
  return fc
    .tuple(items, whitespace)
    .map(([texts, space]) => `[${texts.length === 0 ? space : texts.join(`,${space}`)}]`);
}

/** The text of an object from its members' texts, names that stand twice included. */
export function objectText(members: Arbitrary<readonly string[]>): Arbitrary<string> {
  return fc
    .tuple(members, whitespace)
    .map(([texts, space]) => `{${texts.length === 0 ? space : texts.join(`,${space}`)}}`);
}

/** The text of an object's member. */
export function memberText(name: Arbitrary<string>, value: Arbitrary<string>): Arbitrary<string> {
  return fc.tuple(spaced(name), spaced(value)).map(([left, right]) => `${left}:${right}`);
}

const oddName = fc
  .constantFrom('', '__proto__', 'constructor', 'toString', 'length', '0', '1', '10', '-1', 'a', 'b', 'a.b', 'a[]')
  .chain(nameText);

const { value: nestedText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarText,
    arrayText(fc.array(spaced(tie('value')), { maxLength: 4 })),
    objectText(fc.array(memberText(fc.oneof(oddName, stringText), tie('value')), { maxLength: 5 })),
  ),
}));

const deepText = fc
  .tuple(nestedText, fc.array(fc.constantFrom('[]', '{}'), { minLength: 20, maxLength: 100, size: 'max' }))
  .map(([inner, levels]) =>
    levels.reduce((text, level) => (level === '[]' ? `[${text}]` : `{"":0,"a":${text},"b":[]}`), inner),
  );

/** A JSON document of any shape in odd but legal formatting. */
export const jsonText: Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: spaced(nestedText) },
  { weight: 1, arbitrary: spaced(deepText) },
);

const insertion = fc.constantFrom(
  ...[',', ':', '"', '{', '}', '[', ']', '\\', '-', '+', '.', 'e', '0', '00', '1', ' ', 'x', "'", '/', '//\n', '/**/'],
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    'undefined',
    'nul',
    'True',
    '0x1',
    '.5',
    '5.',
    '1e',
    '1e+',
    '-',
    '--1',
    '+1',
    '01',
  ],
  ...[
    '\\x41',
    '\\u12',
    '\\u00g0',
    '\\U0041',
    '\\a',
    '\\0',
    '\\',
    '\u0000',
    '\u0008',
    '\u001f',
    '\n',
    '\r',
    '\t',
    '\u000b',
  ],
  ...[
    '\u007f',
    '\u0080',
    '\u00a0',
    '\u1680',
    '\u2028',
    '\u3000',
    '\ufeff',
    ',,',
    ',]',
    ',}',
    '[,',
    '{,',
    '"a":',
    '{}',
    '[]',
  ],
);
const mutation: Arbitrary<(text: string, at: number) => string> = fc.oneof(
  fc.constant((text: string, at: number) => text.slice(0, at)),
  fc.constant((text: string, at: number) => text.slice(0, at) + text.slice(at + 1)),
  fc.constant((text: string, at: number) => text.slice(0, at) + text.slice(at, at + 3) + text.slice(at)),
  insertion.map((piece) => (text: string, at: number) => text.slice(0, at) + piece + text.slice(at)),
  insertion.map((piece) => (text: string, at: number) => text.slice(0, at) + piece + text.slice(at + 1)),
  insertion.map((piece) => (text: string) => text + piece),
  insertion.map((piece) => (text: string) => piece + text),
  insertion.map((piece) => (text: string, at: number) => insertBehind(text, at, '"', piece)),
  fc.constant((text: string, at: number) => insertBefore(text, at, /[\]}]/, ',')),
  fc.constant((text: string, at: number) => insertBefore(text, at, /[0-9]/, '0')),
  fc.constant((text: string) => text.replaceAll('"', "'")),
  fc.constant((text: string) => `\ufeff${text}`),
);

/** A document with one thing wrong: cut off, a character more, less or another. At times it is still valid. */
export const brokenJsonText: Arbitrary<string> = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: jsonText }, { weight: 1, arbitrary: scalarText }), fc.nat(), mutation)
  // A cut may go through a surrogate pair, which has no UTF-8.
  .map(([text, at, mutate]) => mutate(text, at % (text.length + 1)).replace(/\p{Surrogate}/gu, '\ufffd'));

function insertBehind(text: string, at: number, unit: string, piece: string): string {
  const place = text.indexOf(unit, at) + 1;
  return text.slice(0, place) + piece + text.slice(place);
}

function insertBefore(text: string, at: number, unit: RegExp, piece: string): string {
  const found = text.slice(at).search(unit);
  return found < 0 ? text + piece : text.slice(0, at + found) + piece + text.slice(at + found);
}

const notUtf8 = fc.constantFrom<number[][]>(
  // Lone continuation bytes, and bytes that never stand in UTF-8.
  ...[[0x80], [0xbf], [0xc0], [0xc1], [0xf5], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xfe], [0xff]],
  // More bytes than the character needs.
  ...[
    [0xc0, 0xa2],
    [0xc1, 0xbf],
    [0xe0, 0x80, 0xaf],
    [0xe0, 0x9f, 0xbf],
    [0xf0, 0x80, 0x80, 0xaf],
    [0xf0, 0x8f, 0xbf, 0xbf],
  ],
  // Surrogates, alone and in pairs (CESU-8), and what lies above U+10FFFF.
  ...[
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
  ],
  // Cut short.
  ...[[0xc3], [0xe2, 0x82], [0xe2], [0xf0, 0x9f, 0x98], [0xf0, 0x9f], [0xf0]],
);

/** A document with bytes in it that aren't UTF-8, mostly within a string: never valid. */
export const brokenBytes: Arbitrary<Uint8Array> = fc
  .tuple(fc.oneof(jsonText, stringText), notUtf8, fc.nat(), fc.boolean())
  .map(([text, wrong, seed, withinString]) => {
    const bytes = Buffer.from(text, 'utf8');
    const quote = bytes.indexOf('"', seed % (bytes.length + 1));
    const at = withinString && quote >= 0 ? quote + 1 : seed % (bytes.length + 1);
    return new Uint8Array(Buffer.concat([bytes.subarray(0, at), Buffer.from(wrong), bytes.subarray(at)]));
  });
