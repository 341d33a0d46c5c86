import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FaultRequest } from '../../src/serve/http/fault-injection.js';
import {
  always,
  hitting,
  loadedShop,
  passing,
  reshaping,
  synchronized,
  tooLarge,
  type LoadedShop,
} from './transaction-faults.js';

// Whole nights over real sockets, on machines that have others to do.
let loaded: LoadedShop;
let undisturbed: Awaited<ReturnType<typeof synchronized>>;

beforeAll(async () => {
  loaded = await loadedShop();
  undisturbed = await synchronized(loaded.lake, undefined);
  expect(undisturbed.released).toBeGreaterThan(5);
});
afterAll(() => loaded[Symbol.asyncDispose]());

/** A list of one status, or a day's window. */
function listIn({ operation, parameters }: FaultRequest): string | undefined {
  return operation === 'SignIn' ? undefined : (parameters['transactionStatus'] ?? 'days');
}

test.each(Object.entries({ ...passing, ...always, ...tooLarge }))(
  '%s: after each night of syncs the lake has what the service has',
  async (kind, faultsOf) => {
    const { faults, met } = hitting(faultsOf, listIn);
    const { entries, released, struck } = await synchronized(loaded.lake, faults, reshaping.includes(kind));
    expect(released).toBe(undisturbed.released);
    expect(entries).toEqual(undisturbed.entries);
    for (const lists of met()) expect(lists).toEqual(['DEFERRED', 'DEFERRED_RELEASED', 'days']);
    if (!kind.startsWith('clock-')) expect(struck).toBeGreaterThan(0);
  },
);
