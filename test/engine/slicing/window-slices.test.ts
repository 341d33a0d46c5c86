import { expect, test } from 'vitest';
import { spanIn } from '../../../src/lake/catalog/load-key.js';

test('a load key names a window by two instants, the earlier one first, and nothing else', () => {
  const from = '2025-01-01T00:00:00.000Z';
  const to = '2025-01-02T00:00:00.000Z';
  expect(spanIn('window', `window/${from}/${to}`)).toEqual({ start: Date.parse(from), end: Date.parse(to) });
  const others = ['group/1', 'window/', `window/${from}`, `window/${to}/${from}`, `window/${from}/${from}`];
  others.push(`window/${from}/${to}/${to}`, `window/x/${to}`, `window/${from}/x`);
  expect(others.map((key) => spanIn('window', key))).toEqual(others.map(() => undefined));
});
