import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createSeller } from '../src/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from './commands/lake-run.js';

const clock = clockAt('2026-03-15T12:00:00Z');

test('the README’s queries give rows, and the settlement’s lines add up to its total', async () => {
  const endpoint = await serving({ ledger: createSeller({ seed: 5, events: 1500 }, clock), clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop' }, { clock });
  const duckdb = await database(lake, clock);
  const queries = [...(await readFile('README.md', 'utf8')).matchAll(/```sql\n(.*?)```/gs)].map(
    ([, query = '']) => query,
  );
  expect(queries).toHaveLength(6);
  for (const query of queries) {
    const rows = await duckdb.rows(query);
    expect(rows.length).toBeGreaterThan(0);
    if (!query.includes("'total'")) continue;
    const millionths = rows.map(({ line, amount }) => ({ line, amount: BigInt(String(amount).replace('.', '')) }));
    const total = millionths.find(({ line }) => line === 'total')?.amount;
    const others = millionths.filter(({ line }) => line !== 'total');
    expect(others.length).toBeGreaterThan(3);
    expect(others.reduce((sum, { amount }) => sum + amount, 0n)).toBe(total);
  }
});
