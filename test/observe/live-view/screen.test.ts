import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Screen } from '../../../src/observe/live-view/screen.js';
import { SmallTerminal } from './small-terminal.js';

const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '█'), minLength: 1, maxLength: 30 });
const step = fc.oneof(
  fc.record({ above: line }),
  fc.record({ drawn: fc.array(line, { maxLength: 6 }) }),
  fc.record({ columns: fc.integer({ min: 31, max: 90 }) }),
);

test('lines stand above what is drawn, each whole and once, and nothing else is left in the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const terminal = new SmallTerminal(80);
      const screen = new Screen(terminal);
      const told: string[] = [];
      let drawn: readonly string[] = [];
      for (const one of steps) {
        if ('above' in one) {
          told.push(one.above);
          screen.above(one.above);
        } else if ('drawn' in one) {
          drawn = one.drawn;
          screen.draw(drawn);
          expect(terminal.isCursorShown).toBe(false);
        } else terminal.columns = one.columns;
        expect(terminal.lines).toEqual([...told, ...drawn, '']);
      }
      screen.clear();
      expect(terminal.lines).toEqual([...told, '']);
      expect(terminal.isCursorShown).toBe(true);
    }),
  );
});

test('a terminal that breaks lines as it is narrowed is cleared of them', () => {
  const terminal = new SmallTerminal(40);
  const screen = new Screen(terminal);
  screen.above('before');
  screen.draw(['a'.repeat(39), 'b'.repeat(12), 'c'.repeat(25)]);
  terminal.narrow(20);
  expect(terminal.lines).toHaveLength(7);
  screen.draw(['short']);
  expect(terminal.lines).toEqual(['before', 'short', '']);
});

test('a low terminal shows as much as fits', () => {
  const terminal = new SmallTerminal(40);
  terminal.rows = 3;
  const screen = new Screen(terminal);
  screen.draw(['1', '2', '3', '4']);
  expect(terminal.lines).toEqual(['1', '2', '']);
});

test('nothing is written where nothing has changed', () => {
  const terminal = new SmallTerminal(40);
  const screen = new Screen(terminal);
  screen.draw(['same']);
  const before = terminal.write.bind(terminal);
  let writes = 0;
  terminal.write = (text) => {
    writes++;
    before(text);
  };
  screen.draw(['same']);
  expect(writes).toBe(0);
  screen.draw(['other']);
  expect(writes).toBe(1);
});
