import type { Emit } from '../../core/events/run-event.js';
import type { Clock } from '../../core/clock.js';
import { literal } from '../../core/duckdb/literals.js';
import type { Parameters } from '../../core/duckdb/connection.js';
import { LedgerlakeError } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import type { OptionalSettings, QuerySettings } from '../configuration/settings.js';
import { LakeDatabase } from '../query/lake-database.js';
import { openLakeReader, type LakeReader } from '../query/lake-files.js';
import { boundedRows, type BoundedRows } from './bounded-rows.js';

/** What a server reads. */
export interface McpLake extends QuerySettings, OptionalSettings<'marginMinutes'> {
  readonly lake: string;
  /** The accounts that clients see; undefined: all. */
  readonly accounts: readonly string[] | undefined;
  readonly config?: string | undefined;
}

export interface SessionContext {
  readonly clock: Clock;
  readonly emit: Emit;
}

/** How a query is run. */
interface QueryLimits {
  readonly rows: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly parameters?: Parameters | undefined;
}

/** Memory of DuckDB; it spills the rest to temporary files. */
const memoryLimit = '1GB';

/**
 * Queries over a lake for others to write: one SELECT each, by a DuckDB that reads nothing but the lake's files, and of limited accounts
 * only theirs. They run one after the other, each over the newest version.
 */
export class LakeSession {
  readonly served: McpLake;
  readonly context: SessionContext;
  readonly reader: LakeReader;
  readonly #lake: LakeDatabase;
  readonly #turns = new Mutex();

  private constructor(served: McpLake, context: SessionContext, reader: LakeReader, lake: LakeDatabase) {
    this.served = served;
    this.context = context;
    this.reader = reader;
    this.#lake = lake;
  }

  /**
   * @throws LedgerlakeError USAGE where there is no lake, and for an account that it lacks; LAKE_STORE or LAKE_LOG where it can't be
   * read
   */
  static async open(served: McpLake, context: SessionContext): Promise<LakeSession> {
    const { lake: location, config, ...settings } = served;
    const { clock, emit } = context;
    const reader = await openLakeReader(location, clock, { ...settings, emit, scope: { lake: location, config } });
    const { folders } = reader;
    const lake = await LakeDatabase.open(reader, { folders, settings: { memory_limit: memoryLimit } });
    return new LakeSession(served, context, reader, lake);
  }

  /**
   * Runs one query, and returns its first rows.
   *
   * @throws LedgerlakeError SQL for anything but one SELECT, for a wrong one, and where it takes too long; STOPPED
   */
  async query(statement: string, { rows, seconds, signal, parameters }: QueryLimits): Promise<BoundedRows> {
    return this.#turns.run(() =>
      this.#withinTime(seconds, signal, async (until) => {
        await this.#lake.refresh(until);
        await this.#refuseOthers(statement, until);
        return boundedRows(await this.#lake.query(statement, { signal: until, parameters }), rows);
      }),
    );
  }

  /** Waits for the last query, and frees the memory. */
  close(): Promise<void> {
    return this.#turns.run(() => {
      this.#lake.close();
      return Promise.resolve();
    });
  }

  /** DuckDB serializes nothing but SELECTs; that says what a statement is before anything of it runs. */
  async #refuseOthers(statement: string, signal: AbortSignal): Promise<void> {
    const [found] = await this.#lake.duckdb.rows(
      "SELECT tree ->> 'error_type' AS fault, tree ->> 'error_message' AS message, json_array_length(tree, '$.statements') AS statements " +
        `FROM (SELECT json_serialize_sql(${literal(statement)}) AS tree)`,
      { signal },
    );
    if (found?.['fault'] === 'parser')
      throw new LedgerlakeError('SQL', `DuckDB can't parse the query: ${String(found['message'])}`);
    if (found?.['fault'] !== null) {
      throw new LedgerlakeError(
        'SQL',
        'expected one query (SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW or SUMMARIZE), got another statement; nothing here writes, and ' +
          'PIVOT needs its values: PIVOT … ON column IN (…)',
      );
    }
    if (found['statements'] !== 1n) {
      throw new LedgerlakeError('SQL', `expected one query, got ${String(found['statements'])}; nothing was run`);
    }
  }

  async #withinTime<T>(seconds: number, signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [late, done] = [new AbortController(), new AbortController()];
    const timer = this.context.clock.sleep(seconds * 1000, done.signal).then(
      () => {
        const what = `expected the query to end within ${seconds} s, it was stopped`;
        late.abort(new LedgerlakeError('SQL', `${what}; read less, or raise timeout_seconds`));
      },
      () => undefined,
    );
    try {
      return await run(AbortSignal.any([signal, late.signal]));
    } finally {
      done.abort();
      await timer;
    }
  }
}
