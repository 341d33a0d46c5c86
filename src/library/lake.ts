import { readCallSettings } from './settings.js';
import { Mutex } from '../core/mutex.js';
import { systemClock } from '../core/clock.js';
import { usageError } from '../core/errors.js';
import { distinctNames } from '../core/text/rows.js';
import type { RunContext } from '../app/context.js';
import type { Parameters, QueryResult } from '../core/duckdb/connection.js';
import {
  callKinds,
  checkOptions,
  instant,
  optionText,
  text,
  texts,
  values,
  type CallOptions,
  type OptionsOf,
} from './options.js';
import type { QuestionName } from '../app/query/question-names.js';
import type { Certificate, LakeStatus } from '../app/results.js';
import { runTask } from './task.js';

const lakeKinds = {
  /** The accounts that `sql` and `ask` see; left out: all. */
  accounts: texts(),
  config: callKinds.config,
  onEvent: callKinds.onEvent,
};

/** The options of `openLake`. `onEvent` receives notes on the lake, and on a query before its rows. */
export interface LakeOptions extends Pick<CallOptions, 'config' | 'onEvent'>, OptionsOf<typeof lakeKinds> {}

const sqlKinds = {
  /**
   * Values for `$1`, `$2` … of the last statement, or by name for `$month` …, each of which it must have. A `Date` is its instant in
   * ISO 8601.
   */
  parameters: values<readonly (SqlValue | Date)[] | Readonly<Record<string, SqlValue | Date>>>(),
  signal: callKinds.signal,
};

/** The options of `sql`. */
export interface SqlOptions extends Pick<CallOptions, 'signal'>, OptionsOf<typeof sqlKinds> {}

const askKinds = {
  /** Values of the question's parameters, as `--param` has them; default: the newest month that is loaded to its end, and the like. */
  parameters: values<Readonly<Record<string, string | number | Date>>>(),
  signal: callKinds.signal,
};

/** The options of `ask`. */
export interface AskOptions extends Pick<CallOptions, 'signal'>, OptionsOf<typeof askKinds> {}

const statusKinds = {
  /** The account; default: all. */
  account: text(),
  /** First instant, ISO 8601 in UTC; default: the first loaded one. */
  from: instant,
  /** End, exclusive; default: five minutes ago. */
  to: instant,
};

/**
 * The options of `status`.
 *
 * @interface
 */
export type StatusOptions = OptionsOf<typeof statusKinds>;

const verifyKinds = {
  /** The account; default: all. */
  account: text(),
  signal: callKinds.signal,
};

/** The options of `verify`. */
export interface VerifyOptions extends Pick<CallOptions, 'signal'>, OptionsOf<typeof verifyKinds> {}

/**
 * A value of a query, exact: BIGINT and wider integers are bigints, smaller ones and DOUBLE numbers, DECIMAL text with all digits
 * (`'25.100000'`), dates and instants ISO 8601 text, lists, structs and maps JSON text, all other types DuckDB's text.
 */
export type SqlValue = string | number | bigint | boolean | null;

/** A row of a query by the names of its columns. A second column of the same name is `NAME_1`. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** A lake, to read from. Other processes may write to it meanwhile: each call reads what is committed when it begins. */
export interface Lake {
  /**
   * Runs one or more statements with DuckDB over the committed files, with a view for each table, as `ledgerlake sql` does. Returns
   * all rows of the last statement; {@link SqlValue} describes their types. Queries run one after the other.
   *
   * @throws LedgerlakeError SQL with DuckDB's message; USAGE for a parameter without a value, and a value of none; STOPPED; LAKE_STORE or
   * LAKE_LOG where the lake can't be read
   */
  sql(query: string, options?: SqlOptions): Promise<readonly SqlRow[]>;
  /**
   * Answers a question of `ledgerlake ask`, by its name. Returns all rows.
   *
   * @throws LedgerlakeError USAGE for an unknown question or parameter, and for a value of another type; else as `sql`
   */
  ask(question: QuestionName, options?: AskOptions): Promise<readonly SqlRow[]>;
  /**
   * What the lake holds and lacks, from its logs only: the object of `ledgerlake status --format json`.
   *
   * @throws LedgerlakeError USAGE for an invalid range, and for an account that the lake lacks
   */
  status(options?: StatusOptions): Promise<LakeStatus>;
  /**
   * Checks every file, row and sum: the object of `ledgerlake verify --format json`, which includes the problems of the lake.
   *
   * @throws LedgerlakeError USAGE for an account that the lake lacks; STOPPED; LAKE_STORE or LAKE_LOG where it can't be read
   */
  verify(options?: VerifyOptions): Promise<Certificate>;
  /** Frees the memory, once all queries have ended. */
  close(): Promise<void>;
}

const names = new Map([['lake', 'path']]);

/**
 * Opens an existing lake, to read from.
 *
 * @param path its location, as the option `lake` of other functions
 * @throws LedgerlakeError USAGE where there is no lake; LAKE_STORE or LAKE_LOG where it can't be read
 */
export async function openLake(path: string, options: LakeOptions = {}): Promise<Lake> {
  if (typeof path !== 'string' || path === '')
    throw usageError('expected the path of openLake to be a text that is not empty');
  checkOptions('openLake', options, lakeKinds);
  const { accounts, config, onEvent } = options;
  const [{ openLakeReader }, { LakeDatabase }, { checkParameters }, { statementsOf }] = await Promise.all([
    import('../app/query/lake-files.js'),
    import('../app/query/lake-database.js'),
    import('../app/query/check-parameters.js'),
    import('../core/duckdb/sql-statements.js'),
  ]);
  const configured = await readCallSettings({ lake: path, config });
  const reader = await runTask({ onEvent, names }, ({ clock, emit }) =>
    openLakeReader(path, clock, {
      ...configured,
      emit,
      scope: { lake: path, config },
      accounts,
    }),
  );
  const lake = await LakeDatabase.open(reader);
  let closed: Promise<void> | undefined;
  const queries = new Mutex();
  const reading = <T>(signal: AbortSignal | undefined, read: (context: RunContext) => Promise<T>): Promise<T> =>
    runTask({ signal, onEvent, names }, read);

  const rowsOf = (
    { signal: given, parameters }: SqlOptions,
    asked: () => { readonly query: string; readonly notes: readonly string[] },
  ): Promise<readonly SqlRow[]> =>
    queries.run(() =>
      reading(given, async ({ signal, emit }) => {
        if (closed !== undefined) throw usageError('expected an open lake, got a closed one');
        await lake.refresh(signal);
        const { query, notes } = asked();
        if (!Array.isArray(parameters)) {
          const last = statementsOf(query).slice(-1);
          checkParameters(last, Object.fromEntries(Object.entries(parameters ?? {})), {
            value: 'a value',
            addition: () => 'it to `parameters`',
          });
        }
        for (const note of [...notes, ...reader.notesOn(query)]) emit({ event: 'message', message: note });
        return sqlRows(await lake.query(query, { signal, parameters: parameters && instantsAsTexts(parameters) }));
      }),
    );

  return {
    sql: async (query, given = {}) => {
      checkOptions('sql', given, sqlKinds);
      return rowsOf(given, () => ({ query, notes: [] }));
    },
    ask: async (name, given = {}) => {
      checkOptions('ask', given, askKinds);
      const { askedQuestion } = await import('../app/query/ask.js');
      const values = Object.entries(instantsAsTexts(given.parameters ?? {})).map(([parameter, value]) => [
        parameter,
        String(value),
      ]);
      const parameters = Object.fromEntries(values) as Readonly<Record<string, string>>;
      const { timeZone } = configured;
      return rowsOf({ signal: given.signal }, () =>
        askedQuestion(reader.lake, { name, parameters, timeZone, now: systemClock.now() }),
      );
    },
    status: async (given = {}) => {
      checkOptions('status', given, statusKinds);
      const { readStatus, statusObject } = await import('../app/status/status.js');
      const [from, to] = [optionText(given.from), optionText(given.to)];
      const { marginMinutes } = configured;
      const settings = { lake: path, config, account: given.account, from, to, marginMinutes };
      return reading(undefined, async (context) => statusObject(await readStatus(settings, context)));
    },
    verify: async (given = {}) => {
      checkOptions('verify', given, verifyKinds);
      const { certify } = await import('../app/verify/verify.js');
      const settings = { lake: path, config, account: given.account };
      return (await reading(given.signal, (context) => certify(settings, context))).certificate;
    },
    close: () =>
      (closed ??= queries.run(() => {
        lake.close();
        return Promise.resolve();
      })),
  };
}

function instantsAsTexts(parameters: NonNullable<SqlOptions['parameters']>): Parameters {
  const named = Object.entries<SqlValue | Date>(parameters).map(
    ([name, value]) => [name, value instanceof Date ? value.toISOString() : value] as const,
  );
  return Array.isArray(parameters) ? named.map(([, value]) => value) : Object.fromEntries(named);
}

async function sqlRows({ columns, chunks }: QueryResult): Promise<readonly SqlRow[]> {
  const names = distinctNames(columns);
  const rows: SqlRow[] = [];
  for await (const chunk of chunks) {
    for (const row of chunk) rows.push(Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])));
  }
  return rows;
}
