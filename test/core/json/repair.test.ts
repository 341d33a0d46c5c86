import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { scanRepaired, type Envelope } from '../../../src/core/json/repair.js';
import { kind, Tape } from '../../../src/core/json/tape.js';

/** The keys of a page of lists, as Finances v0 has them. */
const envelope: Envelope = {
  keys: /"(\w+EventList|NextToken)"\s*:\s*["[]/g,
  ends: (key) => (key === 'NextToken' ? 2 : 1),
};

function repaired(bytes: Uint8Array, keys?: Envelope): Tape {
  const tape = new Tape();
  scanRepaired(bytes, tape, keys);
  return tape;
}

function outcome(text: string | Uint8Array, keys?: Envelope): string {
  try {
    return repaired(Buffer.from(text as string), keys).bytes.toString();
  } catch (error) {
    if (error instanceof LedgerlakeError && error.code === 'JSON_SYNTAX') return `refused: ${error.message}`;
    throw error;
  }
}

describe('strings', () => {
  test.each([
    ['an unknown escape', String.raw`["5\-inch"]`, String.raw`["5\\-inch"]`],
    ['a short escape of a code unit', String.raw`["\u12","\u00e9"]`, String.raw`["\\u12","\u00e9"]`],
    ['control characters', '["a\tb\nc\u0001"]', String.raw`["a\tb\nc\u0001"]`],
    ['a key', '{"a\tb":1}', String.raw`{"a\tb":1}`],
    ['a backslash before the last quote of another', String.raw`["\q","\\"]`, String.raw`["\\q","\\"]`],
  ])('%s is repaired', (_, text, expected) => {
    expect(outcome(text)).toBe(expected);
  });

  test.each([
    ['a byte of Latin-1', [0xf6], '\ufffd'],
    ['half a character', [0xe2, 0x82], '\ufffd'],
    ['an overlong form', [0xc0, 0x80], '\ufffd\ufffd'],
    ['a surrogate', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
    ['a valid character beside an invalid byte', [0xc3, 0xa9, 0xff], 'é\ufffd'],
  ])('%s becomes U+FFFD', (_, bytes, expected) => {
    const source = Buffer.concat([Buffer.from('["x'), Buffer.from(bytes), Buffer.from('y"]')]);
    expect(outcome(source)).toBe(`["x${expected}y"]`);
    expect(outcome(source)).toBe(new TextDecoder().decode(source));
  });

  test('the repaired ones are known, and no others', () => {
    const tape = repaired(Buffer.from('[{"a":"x"},{"b":"\t"},{"c":["y","\\-","z"]}]'));
    const elements = [1, 4, 7];
    expect(elements.map((node) => tape.text(node))).toEqual(['{"a":"x"}', '{"b":"\\t"}', '{"c":["y","\\\\-","z"]}']);
    expect(elements.map((node) => tape.isRepaired(node))).toEqual([false, true, true]);
    expect(tape.repairs?.holes).toEqual([]);
  });

  test('bytes outside of strings are not repaired', () => {
    expect(outcome('[1,\\-]')).toBe('refused: expected a value, found "\\\\" at byte 3');
    expect(outcome('')).toBe('refused: expected a value, found the end at byte 0');
    expect(outcome(Buffer.from([0x5b, 0xf6, 0x5d]))).toMatch(/^refused: /);
    expect(outcome('\ufeff{}')).toMatch(/^refused: expected JSON, found a byte order mark at byte 0/);
  });
});

describe('holes', () => {
  const page = (lists: string, more = ',"NextToken":"t"') => `{"payload":{"FinancialEvents":{${lists}}${more}}}`;

  test.each([
    ['in the middle', '"AEventList":[{"a":1},{"b":"5" x"},{"c":3}]', '"AEventList":[{"a":1},{"c":3}]'],
    ['first', '"AEventList":[{"b":"5" x"},{"c":3}]', '"AEventList":[{"c":3}]'],
    [
      'last of a list',
      '"AEventList":[{"a":1},{"b":"5" x"}],"BEventList":[{"c":3}]',
      '"AEventList":[{"a":1}],"BEventList":[{"c":3}]',
    ],
    ['last of a page', '"AEventList":[{"a":1}],"BEventList":[{"b":"5" x"}]', '"AEventList":[{"a":1}],"BEventList":[]'],
    ['without its last brace', '"AEventList":[{"a":1},{"b":2,{"a":3}]', '"AEventList":[{"a":1},{"a":3}]'],
    ['without its first brace', '"AEventList":[{"a":1},"a":2},{"a":3}]', '"AEventList":[{"a":1},{"a":3}]'],
    ['cut off', '"AEventList":[{"a":1},{"b":[{"x":1},{"y":2,{"a":3}]', '"AEventList":[{"a":1},{"a":3}]'],
    ['with inner lists behind', '"AEventList":[{"d":"5" x","l":[{"x":1},{"y":2}]},{"c":3}]', '"AEventList":[{"c":3}]'],
    ['with another beginning', '"AEventList":[{"a":1},{"a":2,{"b":3},{"c":4}]', '"AEventList":[{"a":1},{"c":4}]'],
    ['behind a bracket too many', '"AEventList":[{"a":1}],{"b":2},{"c":3}]', '"AEventList":[{"a":1},{"c":3}]'],
    ['a bracket before the first', '"AEventList":[[{"a":1},{"a":2}]', '"AEventList":[{"a":1},{"a":2}]'],
    [
      'a bracket before another',
      '"AEventList":[{"a":1},[{"a":2},{"a":3}],"BEventList":[{"b":4}]',
      '"AEventList":[{"a":1},{"a":2},{"a":3}],"BEventList":[{"b":4}]',
    ],
    ['with a brace too many', '"AEventList":[{"b":1},"a":2},{"a":3,"b":4}]', '"AEventList":[{"a":3,"b":4}]'],
    [
      'that ends early within a string',
      '"AEventList":[{"d":1},{"d":"x"}, y","e":2},{"c":3}]',
      '"AEventList":[{"d":1},{"d":"x"},{"c":3}]',
    ],
    [
      'that ends early where its text goes on like another element',
      '"AEventList":[{"d":1},{"d":"x"},{y","e":2},{"c":3}]',
      '"AEventList":[{"d":1},{"d":"x"},{"c":3}]',
    ],
    [
      'that ends early where its text goes on like the end of the list',
      '"AEventList":[{"d":1},{"d":"x"}] y","e":2},{"c":3}]',
      '"AEventList":[{"d":1},{"d":"x"},{"c":3}]',
    ],
  ])('an element that cannot be cut out is left out: %s', (_, lists, expected) => {
    expect(outcome(page(lists), envelope)).toBe(page(expected));
    expect(outcome(page(lists, ''), envelope)).toBe(page(expected, ''));
  });

  test('it is named by its list and its bytes in the source', () => {
    const source = Buffer.from(page('"AEventList":[{"a":"\t"},{"b":"5" x"},{"c":3}]'));
    const tape = repaired(source, envelope);
    const holes = (tape.repairs?.holes ?? []).map(({ list, start, end }) => [
      list,
      source.toString('utf8', start, end),
    ]);
    expect(holes).toEqual([['AEventList', '{"b":"5" x"}']]);
  });

  test('several in several lists are several holes, and lists and token between them stay', () => {
    const bad = '{"d":"5" x","l":[{"x":1},{"y":2}]}';
    const source = page(`"AEventList":[{"a":1},${bad}],"BEventList":[{"b":2}],"CEventList":[${bad},{"c":3},${bad}]`);
    const tape = repaired(Buffer.from(source), envelope);
    expect(tape.bytes.toString()).toBe(page('"AEventList":[{"a":1}],"BEventList":[{"b":2}],"CEventList":[]'));
    expect(tape.repairs?.holes.map(({ list, start, end }) => [list, source.slice(start, end)])).toEqual([
      ['AEventList', bad],
      ['CEventList', `${bad},{"c":3},${bad}`],
    ]);
  });

  test('elements between two that cannot be read stay where they have the keys of another one, and no part of an element does', () => {
    const good = (id: number) => `{"id":${id},"l":[{"x":1},{"y":2},{"x":3}]}`;
    const bad = (id: number) => `{"id":${id},"d":"5" x","l":[{"x":1},{"x":2},{"d":"6" y"},{"x":3}]}`;
    const source = page(`"AEventList":[${good(1)},${bad(2)},${good(3)},${good(4)},${bad(5)},${good(6)},${bad(7)}]`);
    const tape = repaired(Buffer.from(source), envelope);
    expect(tape.bytes.toString()).toBe(page(`"AEventList":[${[1, 3, 4, 6].map(good).join(',')}]`));
    expect(tape.repairs?.holes.map(({ start, end }) => source.slice(start, end))).toEqual([2, 5, 7].map(bad));
  });

  test('without an envelope, and outside of arrays, nothing is left out', () => {
    const lists = '"AEventList":[{"a":1},{"b":"5" x"},{"c":3}]';
    expect(outcome(page(lists))).toMatch(/^refused: expected ',' or '}', found "x" at byte \d+$/);
    expect(outcome(page('"AEventList":[],"B":"5" x"'), envelope)).toMatch(/^refused: /);
  });

  test.each([
    ['cut off', '{"payload":{"FinancialEvents":{"AEventList":[{"a":1},{"b":'],
    ['cut off within an amount', '{"payload":{"FinancialEvents":{"AEventList":[{"a":1},{"b":{"c":"EUR","d":5.0}'],
    ['cut off behind an element', '{"payload":{"FinancialEvents":{"AEventList":[{"a":1},{"b":2}'],
    ['ended by a text', '{"payload":{"FinancialEvents":{"AEventList":[{"a":1},{"b":"5"}]} x"}]}}'],
    ['followed by another text', '{"payload":{"FinancialEvents":{"AEventList":[{"b":"5" x"}]}}} {}'],
  ])('a text that is %s is refused', (_, text) => {
    expect(outcome(text, envelope)).toMatch(/^refused: /);
  });
});

test.each([
  ['control characters', (size: number) => `["${'\u0001'.repeat(size)}"]`],
  ['strings to repair', (size: number) => `[${'"\\-",'.repeat(size / 5)}1]`],
  ['backslashes', (size: number) => `["${'\\'.repeat(size - (size % 2))}" x]`],
  ['broken elements', (size: number) => `{"AEventList":[{"a":1}${',{"a":"5" x"}'.repeat(size / 13)}]}`],
  ['elements that begin others', (size: number) => `{"AEventList":[{"a":1},{"b":x}${',{"a":['.repeat(size / 7)}]}`],
  ['commas', (size: number) => `{"AEventList":[x${','.repeat(size)}]}`],
  ['brackets', (size: number) => `{"AEventList":[x${']'.repeat(size)}`],
  ['quotes', (size: number) => `{"AEventList":[x${'",'.repeat(size / 2)}]}`],
  ['keys of lists', (size: number) => `{"AEventList":[x${',"AEventList":[x'.repeat(size / 16)}]}`],
  [
    'valid elements behind a broken one, and a broken end',
    (size: number) => `{"AEventList":[x${',{"a":1}'.repeat(size / 8)}]]`,
  ],
])(
  'the time grows with the length alone: %s',
  (_, textOf) => {
    const began = performance.now();
    outcome(textOf(200_000), { ...envelope, ends: () => 1 });
    // Time that grows with the square of the length would be minutes.
    expect(performance.now() - began).toBeLessThan(15_000);
  },
  60_000,
);

/** An event with a mark, texts that look like structure, and inner lists. */
const event = fc
  .record({
    text: fc.string({
      unit: fc.constantFrom(...'a B 7 , : { } [ ] é € -'.split(' '), ' ', '\\"', '\\\\', '\\n', '\\u00e9', '😀'),
      maxLength: 12,
    }),
    items: fc.array(fc.array(fc.integer({ min: -99, max: 99 }), { maxLength: 3 }), { maxLength: 3 }),
  })
  .map(({ text, items }) => (mark: number) => {
    const fee = (amount: number) =>
      `{"FeeType":"${text}","FeeAmount":{"CurrencyCode":"EUR","CurrencyAmount":${amount}.5}}`;
    const item = (fees: readonly number[], at: number) =>
      `{"SKU":"${at}","Title":"${text}","Fees":[${fees.map(fee).join(',')}]}`;
    return `{"Mark":"m${mark}m","Text":"${text}","Items":[${items.map(item).join(',')}],"Last":true}`;
  });

const page = fc.array(fc.array(event, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }).map((lists) => {
  let mark = 0;
  return lists.map((events) => events.map((text) => Buffer.from(text(mark++))));
});

type Lists = readonly (readonly Buffer[])[];

function pageOf(lists: Lists): Buffer {
  const parts: Buffer[] = [Buffer.from('{"payload":{"FinancialEvents":{')];
  for (const [at, events] of lists.entries()) {
    parts.push(Buffer.from(`${at === 0 ? '' : ','}"L${at}EventList":[`));
    for (const [number, each] of events.entries()) parts.push(Buffer.from(number === 0 ? '' : ','), each);
    parts.push(Buffer.from(']'));
  }
  return Buffer.concat([...parts, Buffer.from('},"NextToken":"next"}}')]);
}

/** Elements by list, and the token. */
function read(bytes: Buffer): { elements: [string, string][]; token: unknown } {
  const tape = new Tape();
  scanRepaired(bytes, tape);
  const payload = tape.member(0, 'payload') ?? 0;
  const lists = tape.member(payload, 'FinancialEvents') ?? 0;
  const elements: [string, string][] = [];
  for (const key of tape.keys(lists)) {
    expect(tape.kind(key + 1)).toBe(kind.array);
    for (let at = key + 2; at < tape.next(key + 1); at = tape.next(at))
      elements.push([tape.stringValue(key), tape.text(at)]);
  }
  const token = tape.member(payload, 'NextToken');
  return { elements, token: token === undefined ? undefined : tape.stringValue(token) };
}

/** Changes to one event: what is no string, and what breaks the structure. */
const corruption = fc.oneof(
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(),
    bytes: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '\t', '\\-', 'x').map((text) => Buffer.from(text)),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(),
    bytes: fc.constantFrom([0xf6], [0x01], [0xe2, 0x82]).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(), bytes: fc.constant(Buffer.alloc(0)) }),
  fc.record({
    kind: fc.constant('replace' as const),
    at: fc.nat(),
    bytes: fc.constantFrom('"', '\\', '}', '\u0000', 'x').map((text) => Buffer.from(text)),
  }),
);

function corrupted(source: Buffer, { kind: change, at, bytes }: { kind: string; at: number; bytes: Buffer }): Buffer {
  const byte = at % source.length;
  return Buffer.concat([source.subarray(0, byte), bytes, source.subarray(change === 'insert' ? byte : byte + 1)]);
}

/** A text without what a repair changes. */
function comparable(text: string | undefined): string {
  return (text ?? '').replaceAll(/\\u[0-9a-f]{4}|\\[tnrbf]|[\\\p{Cc}]|\ufffd+/gu, '');
}

/**
 * Whether the quotes of a broken event are not in pairs, and one of its texts has what stands between elements or behind the last:
 * `5},{x`, `5}]`. What is text and what is structure can then be read both ways, so the event may end or begin within its text.
 */
function isAmbiguous(whole: Buffer, broken: Buffer): boolean {
  const quotes = broken.toString().replaceAll(/\\[^]/g, '').split('"').length - 1;
  const texts = whole.toString().match(/"(\\[^]|[^"\\])*"/g) ?? [];
  return quotes % 2 === 1 && texts.some((text) => /\}\s*(,\s*\{|\])/.test(text));
}

const several = fc.array(fc.tuple(fc.nat(), corruption), { minLength: 1, maxLength: 4 });

test('of a page with broken events all others are read byte for byte, and no event is invented', () => {
  fc.assert(
    fc.property(page, several, (lists, changes) => {
      const all = lists.flatMap((events, list) => events.map((_, number) => ({ list, number })));
      const broken: Buffer[][] = lists.map((events) => [...events]);
      const touched = new Set<string>();
      for (const [chosen, change] of changes) {
        const { list, number } = all[chosen % all.length] ?? { list: 0, number: 0 };
        const events = broken[list] ?? [];
        if (touched.has(`${list} ${number}`)) continue;
        events[number] = corrupted(events[number] ?? Buffer.alloc(0), change);
        touched.add(`${list} ${number}`);
      }
      for (const [list, events] of broken.entries()) {
        for (const [number, event] of events.entries()) {
          fc.pre(!isAmbiguous(lists[list]?.[number] ?? event, event));
          // A quote that one lacks and the next has too many make one event of two, which is valid.
          const next = events[number + 1];
          fc.pre(next === undefined || outcome(Buffer.concat([event, Buffer.from(','), next])).startsWith('refused'));
        }
      }
      const source = pageOf(broken);
      const tape = repaired(source, envelope);
      JSON.parse(tape.bytes.toString('utf8'));
      expect(tape.bytes).toEqual(Buffer.from(tape.bytes.toString('utf8')));
      const { elements, token } = read(tape.bytes);
      expect(token).toBe('next');
      const textsOf = (chosen: readonly (readonly Uint8Array[])[]) =>
        all.map(({ list, number }) => [`L${list}EventList`, chosen[list]?.[number]?.toString()]);
      const [before, after] = [textsOf(lists), textsOf(broken)];
      const isTouched = ({ list, number }: (typeof all)[number]) => touched.has(`${list} ${number}`);
      /** Without an event that shows what the list has: those right beside a broken one may be parts of it. */
      const isUncertain = ({ list }: (typeof all)[number]) => {
        const events = all.filter((each) => each.list === list).map(isTouched);
        return events.lastIndexOf(true) >= events.length - 2 && events.indexOf(true) < 2;
      };
      const certain = before.filter((_, at) =>
        all.slice(at, at + 1).some((each) => !isTouched(each) && !isUncertain(each)),
      );
      expect(elements).toEqual(expect.arrayContaining(certain));
      // In order of receipt each one is an event, as it was or repaired.
      const possible = after.map(([list, text], at) => [
        list,
        isTouched(all[at] ?? { list: 0, number: 0 }) ? comparable(text) : text,
      ]);
      let from = 0;
      for (const [list, text] of elements) {
        const found = possible.findIndex(
          (each, at) =>
            at >= from &&
            each[0] === list &&
            (each[1] === text || each[1] === comparable(text) || before[at]?.[1] === text),
        );
        expect(found, text).toBeGreaterThanOrEqual(from);
        from = found + 1;
      }
    }),
    { numRuns: 150 },
  );
});
