import { usageError } from '../../core/errors.js';
import { orderIdPattern } from '../../sources/finances/api-v0/operations.js';

/**
 * Order ids from a text, one a line; blank lines are passed over and a repeated id counts once.
 *
 * @throws LedgerlakeError USAGE naming the source and line of an id that isn't 3-7-7 digits, or where there is no id
 */
export function readOrders(text: string, source: string): string[] {
  const orders = new Set<string>();
  for (const [index, line] of text.split('\n').entries()) {
    const order = line.trim();
    if (order === '') continue;
    if (!orderIdPattern.test(order)) {
      throw usageError(
        `expected an order id of 3-7-7 digits such as 902-1845936-5435065 a line, got ${JSON.stringify(order.slice(0, 100))} in ` +
          `${source}, line ${index + 1}; correct or remove it`,
      );
    }
    orders.add(order);
  }
  if (orders.size === 0) throw usageError(`expected order ids, one a line, ${source} holds none`);
  return [...orders];
}
