/** A text that may be JSON, and what it is a case of. */
export interface GrammarCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** How deep it nests, where that is what it is about. */
  readonly depth?: number;
}

function* product(...choices: readonly (readonly string[])[]): Generator<string> {
  const [first = [''], ...rest] = choices;
  for (const one of first) {
    if (rest.length === 0) yield one;
    else for (const others of product(...rest)) yield one + others;
  }
}

const texts = (name: string, list: Iterable<string>): GrammarCase[] =>
  [...list].map((text) => ({ name: `${name}: ${JSON.stringify(text).slice(0, 60)}`, bytes: Buffer.from(text) }));

/** RFC 8259, section 6: sign, integer, fraction and exponent, in forms that the grammar has and in forms that other languages have. */
const numbers = texts('number', [
  ...product(
    ['', '-', '+', '--', '- '],
    ['', '0', '00', '01', '7', '10', '1 0', '1_0', '0x1', '\uff11', '٣', '9007199254740993', '9'.repeat(400)],
    ['', '.', '.0', '.50', '.5.5', ',5', '.-5'],
    ['', 'e', 'E1', 'e+2', 'e-2', 'e+-2', 'e1.5', 'e00400', 'e-99999', 'e9'.padEnd(30, '9')],
  ),
  ...[
    'NaN',
    '-NaN',
    'Infinity',
    '-Infinity',
    'inf',
    '1n',
    '0b1',
    '0o7',
    '1.0f',
    '.5',
    '5.',
    '-',
    '1e',
    '1/2',
    '(1)',
    '$1',
    '1%',
  ],
]);

/** RFC 8259, section 7: a backslash before each character, hexadecimal digits that are none, control characters as they are. */
const escapes = texts('escape', [
  ...Array.from({ length: 0x100 }, (_, code) => `"\\${String.fromCharCode(code)}"`),
  ...['€', '😀', '\u2028', '\ufeff'].flatMap((character) => [
    `"\\${character}"`,
    `"\\u${character}"`,
    `"${character}"`,
  ]),
  ...[0, 1, 2, 3].flatMap((at) =>
    ['g', 'G', '`', '/', ':', '@', '"', '\\', ' ', '\0', '+', 'é', ''].map(
      (digit) => `"\\u${'00e9'.slice(0, at)}${digit}${'00e9'.slice(at + 1)}"`,
    ),
  ),
  ...Array.from({ length: 0x21 }, (_, code) => `"a${String.fromCharCode(code)}b"`),
  ...[
    '"\\',
    '"\\u',
    '"\\u0',
    '"\\u00',
    '"\\u00e',
    '"\\"',
    '"',
    "'a'",
    '`a`',
    'a',
    '"a" "b"',
    '"a"b',
    '\\"a"',
    '"\\x41"',
    '"\\U00000041"',
    '"\\u{41}"',
    '"\\0"',
    '"\\\n"',
  ],
  `"${'\\\\'.repeat(1001)}"`,
  `"${'\\\\'.repeat(1001)}\\"`,
]);

const halves = ['\\ud800', '\\uDBFF', '\\udc00', '\\uDFFF', '\\ue000', '\\u0041', '😀', 'x', ''];

/** RFC 8259, section 8.2: halves of surrogate pairs in each order, beside other characters. */
const surrogates = texts(
  'surrogate',
  [...product(halves, halves, halves)].flatMap((content) => [`"${content}"`, `{"${content}":1}`]),
);

/** Depths below, at and above the limit of 512, balanced and not. */
const depths = [1, 2, 255, 511, 512, 513, 5000, 200_000].flatMap((depth) => [
  ...texts(`depth ${depth}`, [
    '['.repeat(depth) + ']'.repeat(depth),
    '{"a":'.repeat(depth) + '1' + '}'.repeat(depth),
    '['.repeat(depth) + '1' + ']'.repeat(depth - 1),
    '['.repeat(depth) + ']'.repeat(depth + 1),
    '['.repeat(depth),
  ]).map((one) => ({ ...one, depth })),
  ...texts(`depth ${2 * depth}`, ['[{"a":'.repeat(depth) + '1' + '}]'.repeat(depth)]).map((one) => ({
    ...one,
    depth: 2 * depth,
  })),
]);

const keys = ['"a"', '"\\u0061"', '"A"', '""', '"__proto__"', '"constructor"', '"a\\u0000"', '"toString"'];

/** RFC 8259, section 4: equal keys, however they are written, and keys that mean something to a language. */
const duplicates = texts(
  'keys',
  keys.flatMap((one) => keys.flatMap((other) => [`{${one}:1,${other}:2}`, `{${one}:{"b":1},${other}:{"b":2,"b":3}}`])),
);

/** RFC 8259, section 2: each byte between the tokens, and white space that is no white space of JSON. */
const spaces = texts('white space', [
  ...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)).flatMap((space) => [
    `${space}{${space}"a"${space}:${space}1${space},${space}"b"${space}:${space}[${space}]${space}}${space}`,
    `[1${space}]`,
    `[1${space}2]`,
    `tr${space}ue`,
  ]),
  ...['\u0085', '\u00a0', '\u1680', '\u180e', '\u2003', '\u2028', '\u2029', '\u200b', '\u3000', '\ufeff'].map(
    (space) => `[${space}1]`,
  ),
  ...['/* */', '//\n', '#\n', '<!-- -->', '\\n'].flatMap((comment) => [
    `[1,${comment}2]`,
    `${comment}[]`,
    `[]${comment}`,
  ]),
  ' '.repeat(100_000) + '1' + '\n'.repeat(100_000),
]);

const sample = '{"a":[1,-2.50e+3,"x\\u00e9\\n€😀",true,false,null,{}],"b":{"c":[[]],"d":""},"e":"\\ud83d\\ude00"}';

/** A text that has everything, cut off behind each byte, without each byte, and with each byte twice. */
const truncations = Array.from(Buffer.from(sample), (_, at): GrammarCase[] => {
  const bytes = Buffer.from(sample);
  return [
    { name: `cut off at ${at}`, bytes: bytes.subarray(0, at) },
    { name: `without byte ${at}`, bytes: Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]) },
    { name: `byte ${at} twice`, bytes: Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)]) },
  ];
}).flat();

/** RFC 3629, sections 3 and 4: sequences that UTF-8 has, and those that it hasn't. */
const sequences = [
  [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xc2, 0x80], [0xc2, 0x41], [0xdf, 0xbf], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf],
  [0xe0, 0xa0, 0x80], [0xe2, 0x82], [0xe2, 0x28, 0xa1], [0xed, 0x9f, 0xbf], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
  [0xef, 0xbb, 0xbf], [0xef, 0xbf, 0xbe], [0xef, 0xbf, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf], [0xf0, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0x98],
  [0xf4, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xfe], [0xff], [0xff, 0xfe],
]; // prettier-ignore

const utf32 = (text: string): Buffer =>
  Buffer.concat(Array.from(text, (character) => Buffer.from([character.codePointAt(0) ?? 0, 0, 0, 0])));

/** RFC 8259, section 8.1: UTF-8 without a byte order mark; all else is another encoding. */
const encodings: readonly GrammarCase[] = [
  ...sequences.flatMap((sequence) => {
    const [open, close, bytes] = [Buffer.from('["x'), Buffer.from('y"]'), Buffer.from(sequence)];
    const name = Buffer.from(sequence).toString('hex');
    return [
      { name: `in a text: ${name}`, bytes: Buffer.concat([open, bytes, close]) },
      { name: `in a key: ${name}`, bytes: Buffer.concat([Buffer.from('{"'), bytes, Buffer.from('":1}')]) },
      { name: `at the end of a text: ${name}`, bytes: Buffer.concat([open, bytes]) },
      { name: `between tokens: ${name}`, bytes: Buffer.concat([Buffer.from('[1,'), bytes, Buffer.from(']')]) },
    ];
  }),
  { name: 'byte order mark', bytes: Buffer.from('\ufeff{}') },
  { name: 'UTF-16LE', bytes: Buffer.from('{"a":1}', 'utf16le') },
  { name: 'UTF-16LE with a byte order mark', bytes: Buffer.from('\ufeff{"a":1}', 'utf16le') },
  { name: 'UTF-16BE', bytes: Buffer.from('{"a":1}', 'utf16le').swap16() },
  { name: 'UTF-16BE with a byte order mark', bytes: Buffer.from('\ufeff{"a":1}', 'utf16le').swap16() },
  { name: 'UTF-32LE', bytes: utf32('{"a":1}') },
  { name: 'Latin-1', bytes: Buffer.from('["é"]', 'latin1') },
];

const tokens = ['{', '}', '[', ']', ',', ':', '"a"', '1'];

/** Every text of at most so many tokens (RFC 8259, section 2). */
export function* tokenSequences(most: number): Generator<string> {
  for (let length = 0; length <= most; length++) yield* product(...Array.from({ length }, () => tokens));
}

/** RFC 8259, section 3: the literals, and what others write for them. */
const literals = texts('literal', [
  ...['true', 'false', 'null'].flatMap((word) => [
    ...Array.from(word, (_, at) => word.slice(0, at)),
    ...Array.from(word, (_, at) => word.slice(0, at) + word.charAt(at).toUpperCase() + word.slice(at + 1)),
    `${word}x`,
    `${word}\0`,
    `-${word}`,
    `"${word}"`,
    word,
  ]),
  ...[
    'undefined',
    'None',
    'nil',
    'yes',
    'TRUE',
    '[true false]',
    '*',
    '&a',
    '<a>',
    'function(){}',
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{null:1}',
  ],
]);

/** The classes of RFC 8259's grammar; `encodings` and `depths` can't all be written as a text. */
export const grammarClasses: Readonly<Record<string, readonly GrammarCase[]>> = {
  numbers,
  escapes,
  surrogates,
  depths,
  duplicates,
  spaces,
  truncations,
  encodings,
  literals,
};
