import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../../../src/core/clock.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { statistics } from '../../../src/lake/files/local-parquet.js';
import { newFileOf } from '../../lake/small-table.js';
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
    const table = opened.table(entries);
    for (const old of [...opened.snapshot.files(entries)]) {
      const { account, month, path, shared, loadKeys, net, main } = old;
      const file = join(lake, old.lakePath);
      const target = join(lake, '..', 'other.parquet');
      await database.execute(
        `COPY (${query.replaceAll('FILE', `read_parquet('${file}', hive_partitioning = false)`)}) TO '${target}' (FORMAT parquet)`,
      );
      const bytes = await readFile(target);
      const [counted] = await database.rows(`SELECT count(*) AS rows FROM '${target}'`);
      const rows = Number(counted?.['rows']);
      const stats = await statistics(database, table, target, rows);
      const name = basename(path).replace(/-\d+-[0-9a-z]+-\d+\.parquet$/, '');
      const about = { account, month, name, loadKeys, shared, net, rows, stats, ...(main && { main }) };
      await opened.commitFiles({
        operation: 'WRITE',
        main: opened.table(events),
        files: [newFileOf(table, bytes, about)],
        replaced: () => ({ removed: [old] }),
      });
    }
  }
  database.close();
}
