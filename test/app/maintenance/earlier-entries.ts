import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../src/core/clock.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { statistics } from '../../../src/lake/files/local-parquet.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { commitTransaction } from '../../../src/lake/transaction/transaction.js';
import { derivedOf } from '../../../src/lake/delta/file-tags.js';
import { open } from './small-lake.js';

/** Puts a file of entries in each one's place that an older program might have made: `query` makes it of FILE. */
export async function flattenedOtherwise(lake: string, query: string, clock: Clock): Promise<void> {
  const opened = await open(lake, clock);
  const database = await openDatabase();
  for (const [events, entries] of [
    ['events', 'entries'],
    ['group_events', 'group_entries'],
    ['order_events', 'order_entries'],
  ] as const) {
    const main = tables.find(({ name }) => name === events);
    const table = tables.find(({ name }) => name === entries);
    if (main === undefined || table === undefined) throw new Error('no such table');
    for (const add of opened.table(events).snapshot.files.values()) {
      const [path] = derivedOf(add) ?? [];
      const old = [...opened.table(entries).snapshot.files.values()].find(
        (file) => opened.table(entries).pathOf(file) === path,
      );
      if (path === undefined || old === undefined) continue;
      const target = join(lake, '..', 'other.parquet');
      await database.execute(
        `COPY (${query.replaceAll('FILE', `read_parquet('${join(lake, path)}', hive_partitioning = false)`)}) TO '${target}' (FORMAT parquet)`,
      );
      const bytes = await readFile(target);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const [{ rows } = { rows: 0n }] = await database.rows(`SELECT count(*) AS rows FROM '${target}'`);
      const other = { ...old, path: old.path.replace('.parquet', '-0123456789abcdef.parquet'), size: bytes.length };
      const stats = await statistics(database, table, target, Number(rows));
      const tags = { ...old.tags, sha256, rows: String(rows) };
      await commitTransaction(opened, clock, {
        operation: 'WRITE',
        main,
        files: [
          { table, read: () => Promise.resolve(bytes), add: { ...other, stats, tags } },
          { table: main, read: () => readFile(join(lake, main.name, add.path)), add },
        ],
        swaps: true,
        decide: ({ files }) => ({ replaced: [...files.values()].filter(({ path }) => path === add.path), actions: [] }),
      });
    }
  }
  database.close();
}
