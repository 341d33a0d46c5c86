import { expect, test } from 'vitest';
import { orderExpectation } from '../../../src/engine/slicing/order-slicing.js';

test('orders take a request each', () => {
  const order = { orders: ['a', 'b', 'c'], name: 'o', label: 'o', loadKeys: [] };
  expect(orderExpectation(4).pages(order)).toBe(3);
  expect(orderExpectation(4).results(order)).toBe(12);
});
