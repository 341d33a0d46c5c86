import { expect, test } from 'vitest';
import { isColoured } from '../../src/core/environment.js';

test('colours on a terminal that can show them, unless NO_COLOR is set', () => {
  expect(isColoured({}, true)).toBe(true);
  expect(isColoured({ NO_COLOR: '' }, true)).toBe(true);
  expect(isColoured({ NO_COLOR: '1' }, true)).toBe(false);
  expect(isColoured({ TERM: 'dumb' }, true)).toBe(false);
  expect(isColoured({}, false)).toBe(false);
});

test('FORCE_COLOR overrides NO_COLOR and the terminal', () => {
  expect(isColoured({ FORCE_COLOR: '1', NO_COLOR: '1' }, false)).toBe(true);
  expect(isColoured({ FORCE_COLOR: '0' }, true)).toBe(false);
  expect(isColoured({ FORCE_COLOR: 'false' }, true)).toBe(false);
});
