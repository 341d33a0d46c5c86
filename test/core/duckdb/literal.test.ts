import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

test('any text that UTF-8 can carry is itself as a literal, zero bytes and quotes too', async () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('\0', "'", '\\', '\n', '\u001b', '😀'), fc.string()) });
  await fc.assert(
    fc.asyncProperty(text, async (of) => {
      const wellFormed = of.toWellFormed();
      const bytes = Buffer.from(wellFormed).toString('hex').toUpperCase();
      expect(await database.rows(`SELECT hex(${literal(wellFormed)}) AS bytes`)).toEqual([{ bytes }]);
    }),
    { numRuns: 200 },
  );
});
