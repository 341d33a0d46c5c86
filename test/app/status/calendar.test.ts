import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { displayWidth } from '../../../src/core/text/width.js';
import { dayMs } from '../../../src/core/windows.js';
import { calendarLines, legendLines } from '../../../src/app/status/calendar.js';
import type { Day, DayState } from '../../../src/engine/run/day-states.js';

const states: readonly DayState[] = ['full', 'empty', 'partial', 'missing', 'forgotten', 'imported'];
const escape = /\u001b\[\d+m/g;

function days(first: string, all: readonly DayState[]): Day[] {
  return all.map((state, index) => ({ start: Date.parse(`${first}T00:00:00Z`) + index * dayMs, state }));
}

describe('a calendar', () => {
  test('has a sign for each day, under its number, month by month', () => {
    const strip = days('2025-02-26', ['full', 'full', 'partial', 'missing', 'missing', 'empty']);
    expect(calendarLines(strip, { width: 79, color: false })).toEqual([
      '        1   5    10   15   20   25   30',
      '2025-02                          ██▄',
      '2025-03 ··░',
    ]);
  });

  test('has two months side by side in 80 columns', () => {
    const strip = days('2025-02-26', ['full', 'full', 'partial', 'missing', 'missing', 'empty']);
    expect(calendarLines(strip, { width: 80, color: false })).toEqual([
      '        1   5    10   15   20   25   30          1   5    10   15   20   25   30',
      '2025-02                          ██▄     2025-03 ··░',
    ]);
  });

  test('has one line for more than three months that are missing', () => {
    const missing = (count: number) => Array.from({ length: count }, (): DayState => 'missing');
    const head = '        1   5    10   15   20   25   30';
    const full = `2025-01 ${'█'.repeat(31)}`;
    const shown = (strip: Day[]) => calendarLines(strip, { width: 60, color: false });
    expect(shown(days('2025-01-01', ['full']))).toEqual([head, '2025-01 █']);
    const year = Array.from({ length: 31 }, (): DayState => 'full');
    expect(shown(days('2025-01-01', [...year, ...missing(28 + 31 + 30 + 31), ...year.slice(0, 2)]))).toEqual([
      head,
      full,
      '2025-02 ··· 2025-05 4 months missing',
      '2025-06 ██',
    ]);
    expect(shown(days('2025-01-01', [...year, ...missing(28 + 31 + 30)]))).toHaveLength(5);
    expect(shown(days('2025-02-01', missing(120)))).toEqual(['2025-02 ··· 2025-05 4 months missing']);
  });

  test('breaks a month in two on a narrow terminal', () => {
    const strip = days('2025-03-14', ['full', 'full', 'missing', 'empty']);
    expect(calendarLines(strip, { width: 30, color: false })).toEqual(['2025-03              ██', '        ·░']);
  });

  test('shows every day once and keeps to the width', () => {
    const all = fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 800 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), all, fc.integer({ min: 24, max: 250 }), (first, list, width) => {
        const strip = list.map((state, index) => ({ start: (first + index) * dayMs, state }));
        const lines = calendarLines(strip, { width, color: false });
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        const text = lines.join('');
        const count = (sign: string) => text.split(sign).length - 1;
        const of = (state: DayState) => list.filter((other) => other === state).length;
        expect(['█', '░', '▄', '·', 'f', '▒'].map(count)).toEqual(states.map(of));
      }),
      { numRuns: 50 },
    );
  });

  test('says with colour what it says without', () => {
    const strip = days('2025-02-26', [...states, ...states]);
    const plain = { width: 60, color: false };
    const colored = { width: 60, color: true };
    expect(calendarLines(strip, colored).join('\n')).toMatch(escape);
    expect(calendarLines(strip, plain).join('\n')).not.toMatch(escape);
    expect(calendarLines(strip, colored).map((line) => line.replaceAll(escape, ''))).toEqual(
      calendarLines(strip, plain),
    );
    expect(legendLines(strip, colored).map((line) => line.replaceAll(escape, ''))).toEqual(legendLines(strip, plain));
  });
});

test('a legend explains every sign within the width, and imported and forgotten days where there are any', () => {
  expect(legendLines(days('2025-02-26', ['full']), { width: 80, color: false })).toEqual([
    '█ loaded   ░ loaded, nothing in it   ▄ loaded in part   · missing',
  ]);
  const all = days('2025-02-26', states);
  expect(legendLines(all, { width: 120, color: false }).join()).toMatch(
    /f loaded, its rows forgotten .*▒ imported, not loaded/,
  );
  for (const line of legendLines(all, { width: 30, color: false })) expect(line.length).toBeLessThanOrEqual(30);
});
