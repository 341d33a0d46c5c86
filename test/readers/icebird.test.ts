import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openExistingLake } from '../../src/app/query/lake-files.js';
import type { ColumnType } from '../../src/core/columns/table.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { setClock } from '../app/load/synced.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { expectSameLines, referenceTables } from './every-file.js';
import { recording } from './recorded-pages.js';

/** What icebird finds of a table. */
interface Found {
  /** Of each file, and its number of rows. */
  readonly partitions: readonly { readonly partition: { readonly account: string }; readonly rows: string }[];
  readonly rows: readonly Readonly<Record<string, string | number | boolean | null | undefined>>[];
}

const folder = fileURLToPath(new URL('icebird', import.meta.url));
const isInstalled = existsSync(join(folder, 'node_modules/icebird'));

async function icebirdReads(tables: readonly string[]): Promise<readonly Found[]> {
  const child = spawn(process.execPath, [join(folder, 'query.mjs')]);
  child.stdin.end(JSON.stringify(tables));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (output === '') throw new Error(`icebird has answered nothing: ${errors}`);
  return JSON.parse(output) as Found[];
}

/** A value as icebird gives it: instants in milliseconds and decimals as doubles, which it rounds. */
const given: Readonly<Partial<Record<ColumnType, (value: string | number) => string>>> = {
  instant: (value) => String(Date.parse(String(value))),
  decimal: (value) => String(Math.round(Number(value) * 1e6)),
};

/** The same value of the reference: instants are microseconds, decimals millionths. */
const own: Readonly<Partial<Record<ColumnType, (value: bigint) => string>>> = {
  instant: (micros) => String(micros / 1000n),
  decimal: (millionths) => String(Math.round((Number(millionths) / 1e6) * 1e6)),
};

test.skipIf(!isInstalled)('icebird reads from Iceberg metadata what the answers come to', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 7, events: 300, profile: 'edge-cases' }, clock);
  const { url, chains } = await recording(await serving({ backend: seller, clock }));
  const lake = await temporaryFolder();
  for (const account of ['shop', 'other']) {
    const range = { from: '2026-01-24', to: '2026-03-10' };
    await ran({ lake, endpoint: url, account, ...range, api: 'both', export: ['iceberg'] }, { clock });
  }
  // Those of both accounts.
  const reference = referenceTables(chains());
  const { tables } = await openExistingLake(lake, clock, () => undefined);
  const schemas = tables.filter(({ name }) => reference.has(name));
  const expectRead = async () => {
    const found = await icebirdReads(schemas.map(({ name }) => pathToFileURL(join(lake, '_iceberg', name)).href));
    for (const [at, { name, columns }] of schemas.entries()) {
      const { rows = [], partitions = [] } = found[at] ?? {};
      const wanted = reference.get(name) ?? [];
      const read = rows.map((row) =>
        columns.map((column) => {
          const value = row[column.name];
          if (value === undefined || value === null) return null;
          return given[column.type]?.(value as string | number) ?? String(value);
        }),
      );
      const ours = wanted.map((row) =>
        columns.map((column) => {
          const value = row[column.name] as string | bigint | number | boolean | null | undefined;
          if (value === undefined || value === null) return null;
          return typeof value === 'bigint' ? (own[column.type]?.(value) ?? String(value)) : String(value);
        }),
      );
      expectSameLines(
        read.map((row) => JSON.stringify(row)),
        ours.map((row) => JSON.stringify(row)),
        name,
      );
      for (const account of ['shop', 'other']) {
        const files = partitions.filter(({ partition }) => partition.account === account);
        expect(files.reduce((sum, file) => sum + Number(file.rows), 0)).toBe(wanted.length / 2);
      }
    }
    return found.reduce((sum, { partitions }) => sum + partitions.length, 0);
  };
  expect(schemas.map(({ name }) => name)).toContain('group_entries');
  const files = await expectRead();
  await compacted({ lake, export: ['iceberg'] }, { clock });
  expect(await expectRead()).toBeLessThan(files);
});
