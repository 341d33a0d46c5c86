import { Mutex } from '../core/mutex.js';
import { Writable } from 'node:stream';
import { systemClock } from '../core/clock.js';
import { usageError } from '../core/errors.js';
import type { Emit, RunEvent } from '../core/events/run-event.js';
import { distinctNames } from '../core/text/rows.js';
import type { Output } from '../core/text/sink.js';
import type { ReadingContext } from '../app/context.js';
import type { QueryResult } from '../core/duckdb/connection.js';
import { checkOptions, textOf, type OptionKinds } from './options.js';
import type { Certificate, LakeStatus } from './results.js';
import { runTask } from './task.js';

/** What {@link openLake} takes. */
export interface LakeOptions {
  /** Configuration file; default that of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` of the working folder where there is one. */
  readonly config?: string | undefined;
  /** Takes what is to be said of the lake, or of a query before its rows: events called `message`. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/** What {@link Lake.sql} takes beside the query. */
export interface SqlOptions {
  /** Values for `$1`, `$2` … of the last statement. */
  readonly parameters?: readonly SqlValue[] | undefined;
  /** Stops the query, which is rejected with STOPPED. */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link Lake.status} takes. */
export interface StatusOptions {
  /** Default all accounts. */
  readonly account?: string | undefined;
  /** First instant, ISO 8601 in UTC; default the first one that is loaded. */
  readonly from?: string | Date | undefined;
  /** End, exclusive; default now, less five minutes. */
  readonly to?: string | Date | undefined;
}

/** What {@link Lake.verify} takes. */
export interface VerifyOptions {
  /** Default all accounts. */
  readonly account?: string | undefined;
  /** Stops it, and rejects with STOPPED. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A value of a query, exact: BIGINT and wider are bigints, DECIMAL its text with all digits (`'25.100000'`), smaller integers and
 * DOUBLE numbers, dates and instants ISO 8601 text, lists, structs and maps JSON text, everything else DuckDB's text.
 */
export type SqlValue = string | number | bigint | boolean | null;

/** A row of a query by the names of its columns; of several columns of one name the second is called `NAME_1`. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** A lake that is read. Other processes may write to it meanwhile: each call sees what is committed when it begins. */
export interface Lake {
  /**
   * Runs DuckDB over the committed files, a view for each table, as `ledgerlake sql` does: one statement or more, of which the
   * last one's rows are returned, all of them in memory. Queries run one after the other. See {@link SqlValue} for types.
   *
   * @throws LedgerlakeError SQL with DuckDB's message, STOPPED, LAKE_STORE or LAKE_LOG where the lake can't be read
   */
  sql(query: string, options?: SqlOptions): Promise<readonly SqlRow[]>;
  /**
   * What the lake holds and lacks, from its logs alone: the object of `ledgerlake status --format json`.
   *
   * @throws LedgerlakeError USAGE for a range that is none, and for an account that the lake lacks
   */
  status(options?: StatusOptions): Promise<LakeStatus>;
  /**
   * Compares every file, row and sum with what they must be: the object of `ledgerlake verify --format json`. What is wrong with
   * the lake is in it, and throws nothing.
   *
   * @throws LedgerlakeError USAGE for an account that the lake lacks, STOPPED, LAKE_STORE or LAKE_LOG where it can't be read
   */
  verify(options?: VerifyOptions): Promise<Certificate>;
  /** Frees the memory, once the queries that were asked have ended. */
  close(): Promise<void>;
}

const lakeKinds: OptionKinds<LakeOptions> = { config: 'text', onEvent: 'function' };
const sqlKinds: OptionKinds<SqlOptions> = { parameters: 'values', signal: 'signal' };
const statusKinds: OptionKinds<StatusOptions> = { account: 'text', from: 'instant', to: 'instant' };
const verifyKinds: OptionKinds<VerifyOptions> = { account: 'text', signal: 'signal' };

/**
 * Opens a lake that is there: a folder, or `s3://BUCKET/PREFIX`. Nothing is written to it.
 *
 * @throws LedgerlakeError USAGE where there is no lake, LAKE_STORE or LAKE_LOG where it can't be read
 */
export async function openLake(path: string, options: LakeOptions = {}): Promise<Lake> {
  if (typeof path !== 'string' || path === '')
    throw usageError('expected the path of openLake to be a text that is not empty');
  checkOptions('openLake', options, lakeKinds);
  const { config, onEvent } = options;
  const [{ configuredSettings }, { openLakeReader }, { LakeDatabase }, { openDatabase }] = await Promise.all([
    import('../app/configuration/settings.js'),
    import('../app/query/lake-files.js'),
    import('../app/query/lake-database.js'),
    import('../core/duckdb/connection.js'),
  ]);
  const sources = { texts: { lake: path, config }, environment: process.env, workingFolder: process.cwd() };
  const { marginMinutes } = (await configuredSettings(sources)).settings;
  const reader = await runTask({ onEvent }, ({ emit }) =>
    openLakeReader(path, systemClock, logTo(emit), { lake: path, config }),
  );
  const database = await openDatabase();
  const lake = new LakeDatabase({ database, ...reader });
  let closed: Promise<void> | undefined;
  const queries = new Mutex();
  const reading = <T>(
    signal: AbortSignal | undefined,
    read: (context: Omit<ReadingContext, 'output'>, emit: Emit) => Promise<T>,
  ): Promise<T> =>
    runTask({ signal, onEvent }, (task) =>
      read({ clock: systemClock, signal: task.signal, log: logTo(task.emit) }, task.emit),
    );

  const close = (): Promise<void> =>
    queries.run(() => {
      database.close();
      return Promise.resolve();
    });

  return {
    sql: async (query, given = {}) => {
      checkOptions('sql', given, sqlKinds);
      const { parameters } = given;
      return queries.run(() =>
        reading(given.signal, async ({ signal, log }) => {
          if (closed !== undefined) throw usageError('expected an open lake, got a closed one');
          await lake.update(signal);
          for (const note of reader.notesOn(query)) log(note);
          return lake.run(query, rowsOf, { signal, ...(parameters && { parameters }) });
        }),
      );
    },
    status: async (given = {}) => {
      checkOptions('status', given, statusKinds);
      const { status } = await import('../app/status/status.js');
      const [from, to] = [textOf(given.from), textOf(given.to)];
      const settings = { lake: path, config, account: given.account, from, to, marginMinutes };
      const text = await reading(undefined, (context) =>
        written((output) => status({ ...settings, format: 'json', color: false }, { ...context, output })),
      );
      return JSON.parse(text) as LakeStatus;
    },
    verify: async (given = {}) => {
      checkOptions('verify', given, verifyKinds);
      const { verify } = await import('../app/verify/verify.js');
      const settings = { lake: path, config, account: given.account, strict: false };
      const text = await reading(given.signal, (context) =>
        written((output) => verify({ ...settings, format: 'json' }, { ...context, output })),
      );
      return JSON.parse(text) as Certificate;
    },
    close: () => (closed ??= close()),
  };
}

function logTo(emit: Emit): (message: string) => void {
  return (message) => {
    emit({ event: 'message', message });
  };
}

async function rowsOf({ columns, chunks }: QueryResult): Promise<readonly SqlRow[]> {
  const names = distinctNames(columns);
  const rows: SqlRow[] = [];
  for await (const chunk of chunks) {
    for (const row of chunk) rows.push(Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])));
  }
  return rows;
}

/** What a command writes. */
async function written(write: (output: Output) => Promise<unknown>): Promise<string> {
  const pieces: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (piece, _encoding, done) => {
      pieces.push(String(piece));
      done();
    },
  });
  await write(output);
  return pieces.join('');
}
