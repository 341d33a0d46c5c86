import {
  openDatabase as open,
  type Database,
  type DatabaseOptions,
  type QueryResult,
} from '../../../src/core/duckdb/connection.js';
import { currentProcess, currentWorld, type Process, type World } from '../world.js';

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

export async function openDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const world = currentWorld();
  const process = currentProcess();
  const settings = { ...options.settings, threads: 1 };
  const { folders } = options;
  const opened = await world.outside(() => open({ ...(folders && { folders }), settings }));
  return wrapped(opened, world, process);
}

function wrapped(opened: Database, world: World, process: Process | undefined): Database {
  let isClosed = false;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    process?.open.delete(close);
    opened.close();
  };
  process?.open.add(close);
  return {
    query: async (...query) => {
      const result = await world.outside(() => opened.query(...query));
      return { ...result, chunks: outside(result.chunks, world) };
    },
    execute: (...query) => world.outside(() => opened.execute(...query)),
    rows: (...query) => world.outside(() => opened.rows(...query)),
    openConnection: async () => wrapped(await world.outside(() => opened.openConnection()), world, process),
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
