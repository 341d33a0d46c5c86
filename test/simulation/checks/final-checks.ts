import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { verifyLake } from '../../../src/app/verify/verify-lake.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { Lake } from '../../../src/lake/lake.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { dayMs } from '../../../src/core/windows.js';
import { Violation } from '../../lake/simulation/violation.js';
import { multisetOf } from '../world/answers.js';
import type { Simulation } from '../play.js';
import { rawTexts } from './stored-rows.js';
import { serviceClock } from '../world/world.js';

/** The tables that have views as known. */
export const knownTables = ['events', 'transactions'] as const;

/** What an account's rows of a table were at an instant of the machine's clock. */
export interface KnownRows {
  readonly account: string;
  readonly table: (typeof knownTables)[number];
  readonly at: number;
  readonly key: string;
}

/** The program's own proof of the lake: that of totals of settlements, entries of events, statistics of files. */
export async function verifyAtTheEnd({ world, store }: Simulation): Promise<void> {
  const clock = serviceClock(world);
  const { signal } = new AbortController();
  const verified = async () => {
    const lake = await Lake.open(store.direct(), tables, clock);
    return verifyLake({ lake, account: undefined, clock, signal, emit: () => undefined });
  };
  const certificate = await world.play(verified());
  if (certificate.found('lake') === 0) return;
  const problems = certificate.problems();
  throw new Violation(`verify finds: ${JSON.stringify(problems.slice(0, 2)).slice(0, 600)}`);
}

/** At each instant the lake is what was known then, as DuckDB reads it. */
export async function compareKnown({ world, store, folder }: Simulation, known: readonly KnownRows[]): Promise<void> {
  if (known.length === 0) return;
  const copy = join(folder, 'copy');
  for (const [path, bytes] of store.files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    writeFileSync(join(copy, path), bytes);
  }
  const opened = async () => {
    const { tables: views, lakeFiles, macrosFor } = await openLakeReader(copy, serviceClock(world));
    return { views, files: await lakeFiles(), statements: macrosFor() };
  };
  const { views, files, statements } = await world.play(opened());
  const database = await openDatabase({ settings: { threads: 1 } });
  try {
    const named = views.filter(({ name }) => [...knownTables, 'event_history'].some((known) => known === name));
    await createViews(database, named, files);
    const needed = statements.filter((sql) => /\bMACRO (?:loaded_spans|(?:events|transactions)_as_known)\(/.test(sql));
    for (const statement of needed) await database.execute(statement);
    for (const { account, table, at, key } of known) {
      const instant = new Date(at).toISOString();
      const sql = `SELECT raw FROM ${table}_as_known('${instant}') WHERE account = '${account}'`;
      const rows = await database.rows(sql);
      const found = multisetOf(rows.map(({ raw }) => String(raw))).key();
      if (found !== key)
        throw new Violation(`${table} of ${account} as known at ${instant} are ${found}, they were ${key}`);
    }
  } finally {
    database.close();
  }
}

/** Before all is loaded again: nothing is in the lake more often than a backend ever had it. */
export async function checkDoubles({ world, store, watch, upstreams, firstDay, plan }: Simulation): Promise<void> {
  for (const [account, { backend }] of upstreams) {
    // A sync of a lake from which all was forgotten loads 90 days.
    const counts = new Map<string, number>();
    const range = { start: firstDay - (plan.history + 100) * dayMs, end: world.now() };
    for (const text of await backend.texts(range, world.now())) counts.set(text, (counts.get(text) ?? 0) + 1);
    for (const file of watch.truth.filesOf('events', account)) {
      const path = file.lakePath;
      const bytes = store.files.get(path);
      if (bytes === undefined || watch.damaged.has(path)) continue;
      for (const text of (await rawTexts(bytes)) ?? []) {
        const left = counts.get(text);
        // One that has vanished or changed since isn't counted.
        if (left === undefined) continue;
        if (left === 0) throw new Violation(`an event of ${account} is in the lake twice: ${text.slice(0, 300)}`);
        counts.set(text, left - 1);
      }
    }
  }
}
