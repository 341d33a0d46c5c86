import {
  openDatabase as open,
  type Database,
  type DatabaseOptions,
  type QueryResult,
} from '../../../src/core/duckdb/connection.js';
import { currentProcess, currentWorld, type Process, type World } from '../world/world.js';

/*
 * Replaces `src/core/duckdb/connection.ts`: DuckDB itself works in threads of its own, so each of its calls is made once nothing else
 * goes on.
 */

export type {
  Database,
  DatabaseOptions,
  QueryOptions,
  QueryColumn,
  QueryResult,
} from '../../../src/core/duckdb/connection.js';

/** Databases that nobody uses: opening one takes as long as ten queries. */
const idle: { readonly settings: string; readonly database: Database }[] = [];

export async function openDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const world = currentWorld();
  const process = currentProcess();
  const settings = { ...options.settings, threads: 1 };
  const known = idle.findIndex((one) => one.settings === JSON.stringify(settings));
  const [reused] = known < 0 ? [] : idle.splice(known, 1);
  // Without the restriction to folders, which takes a call more for each query.
  const opened = await world.outside(() =>
    reused === undefined ? open({ settings }) : Promise.resolve(reused.database),
  );
  return wrapped(opened, { world, process, settings: JSON.stringify(settings), isKept: true });
}

interface Wrapping {
  readonly world: World;
  readonly process: Process | undefined;
  readonly settings: string;
  /** Whether the database may be used again. */
  readonly isKept: boolean;
}

function wrapped(opened: Database, { world, process, settings, isKept }: Wrapping): Database {
  let isClosed = false;
  let isClean = isKept;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    process?.open.delete(close);
    if (isClean && process?.isDead === false) idle.push({ settings, database: opened });
    else opened.close();
  };
  process?.open.add(close);
  /** Only what leaves nothing behind may come before another use. */
  const noted = (sql: string): void => {
    isClean &&= /^\s*(?:SELECT|COPY|WITH|FROM)\b/i.test(sql);
  };
  return {
    query: async (sql, ...options) => {
      noted('');
      const result = await world.outside(() => opened.query(sql, ...options));
      return { ...result, chunks: outside(result.chunks, world) };
    },
    execute: (sql, ...options) => {
      noted(sql);
      return world.outside(() => opened.execute(sql, ...options));
    },
    rows: (sql, ...options) => {
      noted(sql);
      return world.outside(() => opened.rows(sql, ...options));
    },
    openConnection: async () => {
      const connection = await world.outside(() => opened.openConnection());
      return wrapped(connection, { world, process, settings, isKept: false });
    },
    close,
  };
}

async function* outside(chunks: QueryResult['chunks'], world: World): QueryResult['chunks'] {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await world.outside(() => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
