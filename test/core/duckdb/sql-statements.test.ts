import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parametersOf, StatementReader, statementsOf } from '../../../src/core/duckdb/sql-statements.js';

test('semicolons count outside of strings, names and comments only', () => {
  const quoted = [
    `SELECT ';', 'it''s;', e'\\';', E'a''b\\';'`,
    `SELECT ";", "a"";"`,
    `SELECT $$;$$, $tag$ ; $$ ; $tag$`,
    `SELECT 1 -- one; ' two`,
    `SELECT 1 /* ; /* ; */ ; ' */ + 1`,
    `SELECT 'over\nlines;\n' || $$\n;\n$$`,
    `SELECT 10 - -1, 6 / 3, note'x'`,
  ];
  for (const statement of quoted) {
    expect(statementsOf(`${statement}\n; SELECT 2`)).toEqual([`${statement}\n`, ' SELECT 2']);
  }
});

test('empty statements and comments alone are none', () => {
  expect(statementsOf(' ;; \n -- only ; this\n /* and ; that */ ;')).toEqual([]);
  expect(statementsOf('')).toEqual([]);
});

test('a statement that isn’t ended is pending, over any number of lines', () => {
  const reader = new StatementReader();
  expect(reader.pending).toBe(false);
  expect(reader.push('')).toEqual([]);
  expect(reader.push('SELECT 1; SELECT')).toEqual(['SELECT 1']);
  expect(reader.pending).toBe(true);
  expect(reader.push("'a")).toEqual([]);
  expect(reader.push("b'; ")).toEqual([" SELECT\n'a\nb'"]);
  expect(reader.pending).toBe(false);
  expect(reader.push('/* open')).toEqual([]);
  expect(reader.pending).toBe(true);
  expect(reader.push('*/ FROM events')).toEqual([]);
  expect(reader.rest()).toBe('/* open\n*/ FROM events');
  expect(reader.rest()).toBeUndefined();
  expect(reader.pending).toBe(false);
});

const piece = fc.constantFrom('a', ' ', '\n', ';', "'", '"', '$', '$x$', '--', '/*', '*/', "e'", '\\', '1');

test('nothing of the text is lost, and it doesn’t matter in how many lines it comes', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      const whole = statementsOf(text);
      const letters = (parts: readonly string[]): number => parts.join('').replaceAll(/[^a1]/g, '').length;
      // Letters in comments that no statement follows aren't returned, so the sum is an upper bound there.
      expect(letters(whole)).toBeLessThanOrEqual(letters([text]));
      expect(statementsOf(`${text}\n`).map((one) => one.trimEnd())).toEqual(whole.map((one) => one.trimEnd()));
      if (!/--|\/\*/.test(text)) expect(letters(whole)).toBe(letters([text]));
    }),
  );
});

test('parameters are those outside of strings, names and comments', () => {
  const statement = [
    `SELECT $month, $limit_2, $1, $month, 'a $b', e'\\' $c', "$d" -- $e ' "`,
    `, /* $f */ $$ $g $$, $tag$ $h $$ $tag$, a$i, 'it''s $j' || $größe::INT`,
  ].join('\n');
  expect([...parametersOf(statement)]).toEqual(['month', 'limit_2', '1', 'größe']);
  expect([...parametersOf('SELECT 1')]).toEqual([]);
});

test('parameters after any mixture of constructs are found', () => {
  const construct = fc.constantFrom(
    `'$x'`,
    `"$x"`,
    `-- $x\n`,
    '/* $x */',
    '$$ $x $$',
    '$a$ $x $a$',
    `e'\\'$x'`,
    ' ',
    `''`,
  );
  fc.assert(
    fc.property(fc.array(construct, { maxLength: 8 }), (before) => {
      expect([...parametersOf(`SELECT ${before.join(',')}, $y`)]).toEqual(['y']);
    }),
  );
});
