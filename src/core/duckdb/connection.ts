import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DuckDBArrayValue,
  DuckDBDateValue,
  DuckDBDecimalType,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  DuckDBUnionValue,
  DuckDBVariantValue,
  ResultReturnType,
  StatementType,
  version,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBResult,
  type DuckDBValue,
} from '@duckdb/node-api';
import { LedgerlakeError, messageOf, throwIfStopped } from '../errors.js';
import { duckdbMemory, readMachine } from '../machine.js';
import {
  cellText,
  jsonNumber,
  type ResultCell,
  type ResultRow,
  type ResultColumn,
  type CellKind,
  type ResultRows,
} from '../text/rows.js';
import { filePattern, literal } from './literals.js';
import { statementsOf } from './sql-statements.js';
import { Mutex } from '../mutex.js';
import { decimalScale, decimalText } from '../numeric/decimal.js';
import { dateText, floatNumber, keepByteOrderMarks, ticksText } from './texts.js';

/** The version of DuckDB's library, such as `v1.5.5`; it throws where the library can't be loaded. */
export function duckdbVersion(): string {
  return version();
}

/** Values for `$1`, `$2` …, or for `$name`, each of which the statement must have. */
export type Parameters = readonly ResultCell[] | Readonly<Record<string, ResultCell>>;

function isPositional(parameters: Parameters): parameters is readonly ResultCell[] {
  return Array.isArray(parameters);
}

export interface QueryOptions {
  /** Stops the query, which then throws the signal's reason or STOPPED. */
  readonly signal?: AbortSignal | undefined;
  /** Of the last statement. */
  readonly parameters?: Parameters | undefined;
}

export interface DatabaseOptions {
  /**
   * The folders that statements may access, besides DuckDB's temporary folder; no other folder, no network, no
   * extension. Left out: no restriction.
   */
  readonly folders?: readonly string[];
  /** DuckDB's settings by name. With `folders` they can't be changed afterwards. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Stops the queries that have no signal of their own. */
  readonly signal?: AbortSignal | undefined;
}

export interface QueryColumn extends ResultColumn {
  /** As DuckDB writes it: `DECIMAL(18,6)`. */
  readonly type: string;
}

export interface QueryResult {
  /** What the statement returns: rows, the number of rows written (INSERT, COPY …), or nothing (CREATE, SET …). */
  readonly returns: 'rows' | 'count' | 'nothing';
  /** Whether the result is the plan of an EXPLAIN: lines of text that are printed unchanged. */
  readonly plan: boolean;
  readonly columns: readonly QueryColumn[];
  /** The rows, some at a time, read on demand; once, and no later than the next query. */
  readonly chunks: AsyncIterable<ResultRows>;
}

/**
 * An in-memory DuckDB in UTC. It runs one query at a time, in the order of the calls: a query ends the rows of the previous one, if
 * they are still being read. Every method but
 * `close` throws a LedgerlakeError with code SQL and DuckDB's own message, the line with its caret included.
 *
 * Cells are exact: DECIMAL is its text with all digits, BIGINT and wider are bigints, smaller integers and DOUBLE
 * numbers, dates and instants ISO 8601 text (TIMESTAMPTZ with `Z`, fractions only where there are any), lists, structs
 * and maps JSON text, BLOB, INTERVAL, UUID and others DuckDB's cast to VARCHAR.
 */
export interface Database {
  /** Runs the user's statements, with `folders` only one. Returns the result of the last one, whose rows are read on demand. */
  query(sql: string, options?: QueryOptions): Promise<QueryResult>;
  /** Runs one statement to its end and discards its rows. */
  execute(sql: string, options?: QueryOptions): Promise<void>;
  /** All rows of a query with few rows, by column name. */
  rows(sql: string, options?: QueryOptions): Promise<readonly ResultRow[]>;
  /** Opens another connection to the same database, for a concurrent query. It must be closed before this one. */
  openConnection(): Promise<Database>;
  /** Stops the running query and frees the memory. */
  close(): void;
}

/**
 * Opens a new DuckDB. It never downloads an extension unless a statement says INSTALL. Queries over a lake must set
 * `folders`: a lake may come from anybody, and a statement made from its content must not access anything else.
 */
export async function openDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const { folders, settings = {}, signal } = options;
  keepByteOrderMarks();
  // Queries larger than memory spill to this folder; DuckDB's default is in the working directory and readable by
  // others.
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-duckdb-'));
  const removeFolder = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    temp_directory: join(folder, 'spill'),
  }).catch((error: unknown) => {
    removeFolder();
    throw error;
  });
  const connection = await instance.connect();
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  const machine = readMachine();
  const { memory_limit: memory } = settings;
  const fitting = {
    threads: machine.cores,
    ...settings,
    ...(typeof memory === 'string' && { memory_limit: duckdbMemory(memory, machine) }),
  };
  for (const [name, value] of Object.entries(fitting)) {
    await connection.run(`SET ${name} = ${typeof value === 'string' ? literal(value) : String(value)}`);
  }
  if (folders !== undefined) await confine(connection, folders);
  connection.closeSync();
  const onClose = (): void => {
    instance.closeSync();
    removeFolder();
  };
  return openConnection(instance, { allowsSeveral: folders === undefined, defaultSignal: signal }, onClose);
}

/** Restricts DuckDB to these folders. DuckDB resolves links before it checks where a file is. */
async function confine(connection: DuckDBConnection, folders: readonly string[]): Promise<void> {
  await connection.run('SET autoload_known_extensions = false');
  // Files are named by patterns, and DuckDB checks the pattern itself against the folders.
  const allowed = new Set(folders.flatMap((name) => [name, filePattern(name)]));
  await connection.run(`SET allowed_directories = [${[...allowed].map(literal).join(', ')}]`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
}

async function openConnection(
  instance: DuckDBInstance,
  defaults: { readonly allowsSeveral: boolean; readonly defaultSignal: AbortSignal | undefined },
  onClose: () => void,
): Promise<Database> {
  const { allowsSeveral, defaultSignal } = defaults;
  const connection = await instance.connect();
  // A query ends the rows of the one before it, so that those that read all of theirs wait for each other.
  const turns = new Mutex();

  const run = async (
    sql: string,
    { signal = defaultSignal, parameters }: QueryOptions = {},
    isOneOnly = true,
  ): Promise<QueryResult> => {
    // DuckDB has no error message for this case.
    if (statementsOf(sql).length === 0) throw new LedgerlakeError('SQL', 'expected a statement, got none');
    const result = await interruptible(connection, signal, async () => {
      // Text from outside could bring a statement of its own.
      if (isOneOnly) {
        const { count } = await connection.extractStatements(sql);
        if (count !== 1) throw new LedgerlakeError('SQL', `expected one statement, got ${count}: nothing was run`);
      }
      return connection.stream(sql, parameters && (isPositional(parameters) ? [...parameters] : { ...parameters }));
    });
    return {
      returns: returnKind(result),
      plan: result.statementType === StatementType.EXPLAIN,
      columns: resultColumns(result),
      chunks: chunksOf(connection, result, signal),
    };
  };

  return {
    query: (sql, options) => turns.run(() => run(sql, options, !allowsSeveral)),
    execute: (sql, options) =>
      turns.run(async () => {
        const { chunks } = await run(sql, options);
        // A statement may throw only while its rows are read.
        const rows = chunks[Symbol.asyncIterator]();
        while ((await rows.next()).done !== true);
      }),
    rows: (sql, options) =>
      turns.run(async () => {
        const { columns, chunks } = await run(sql, options);
        const all: Record<string, ResultCell>[] = [];
        for await (const rows of chunks) {
          for (const row of rows) all.push(Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])));
        }
        return all;
      }),
    openConnection: () => openConnection(instance, defaults, () => undefined),
    close: () => {
      connection.closeSync();
      onClose();
    },
  };
}

async function* chunksOf(
  connection: DuckDBConnection,
  result: DuckDBResult,
  signal: AbortSignal | undefined,
): AsyncGenerator<ResultRows> {
  const converters = resultColumns(result).map(converterOf);
  let ended = false;
  try {
    for (;;) {
      const chunk = await interruptible(connection, signal, () => result.fetchChunk());
      ended = chunk === null || chunk.rowCount === 0;
      if (chunk === null || ended) return;
      for (let from = 0; from < chunk.rowCount; from += rowsAtOnce) yield chunkRows(chunk, from, converters);
    }
  } finally {
    // A reader that stops early doesn't need the rest computed.
    if (!ended) connection.interrupt();
  }
}

/** Rows that are read of a chunk at a time: long texts of all of its rows would outlive the young generation of the heap. */
const rowsAtOnce = 64;

function chunkRows(
  chunk: DuckDBDataChunk,
  from: number,
  converters: readonly ((value: DuckDBValue) => ResultCell)[],
): ResultRows {
  const vectors = converters.map((_, column) => chunk.getColumnVector(column));
  const count = Math.min(rowsAtOnce, chunk.rowCount - from);
  return Array.from({ length: count }, (_, row) =>
    converters.map((convert, column) => convert(vectors[column]?.getItem(from + row) ?? null)),
  );
}

/** Runs a DuckDB call: an abort interrupts it, and DuckDB's errors become a LedgerlakeError. */
async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal | undefined,
  step: () => Promise<T>,
): Promise<T> {
  let repeating: NodeJS.Timeout | undefined;
  const stop = (): void => {
    connection.interrupt();
    // DuckDB ignores an interrupt before its thread has started.
    repeating = setInterval(() => {
      connection.interrupt();
    }, 20);
  };
  try {
    throwIfStopped(signal);
    signal?.addEventListener('abort', stop, { once: true });
    const result = await step();
    // An interrupted fetch may look like the end of the rows.
    throwIfStopped(signal);
    return result;
  } catch (error) {
    throwIfStopped(signal);
    throw sqlError(error);
  } finally {
    signal?.removeEventListener('abort', stop);
    clearInterval(repeating);
  }
}

function sqlError(error: unknown): LedgerlakeError {
  if (error instanceof LedgerlakeError) return error;
  const message = messageOf(error).replace(/^Failed to extract statements: /, '');
  return new LedgerlakeError('SQL', messageLines(message.trimEnd()), { cause: error });
}

/**
 * DuckDB's message with all lines after the first indented, so that none looks like another message; the excerpt of the
 * query is unchanged.
 */
function messageLines(message: string): string {
  const excerpt = /\n\nLINE \d+: [^\n]*\n *\^$/.exec(message)?.[0] ?? '';
  const text = message.slice(0, message.length - excerpt.length);
  return text.trimEnd().replaceAll(/\n+/g, '\n  ') + excerpt;
}

function returnKind(result: DuckDBResult): QueryResult['returns'] {
  if (result.returnType === ResultReturnType.QUERY_RESULT) return 'rows';
  return result.returnType === ResultReturnType.CHANGED_ROWS ? 'count' : 'nothing';
}

function resultColumns(result: DuckDBResult): readonly (QueryColumn & { readonly id: DuckDBTypeId })[] {
  return Array.from({ length: result.columnCount }, (_, at) => {
    const type = result.columnType(at);
    const isAmount = type instanceof DuckDBDecimalType && type.scale === decimalScale;
    const alias = result.columnLogicalType(at).alias;
    const json = type.typeId === DuckDBTypeId.VARCHAR && alias === 'JSON';
    return {
      name: result.columnName(at),
      kind: json ? 'json' : (kinds.get(type.typeId) ?? 'text'),
      type: alias ?? type.toString(),
      id: type.typeId,
      ...(isAmount && { isAmount }),
    };
  });
}

const kinds: ReadonlyMap<DuckDBTypeId, CellKind> = new Map(
  (
    [
      ['boolean', 'BOOLEAN'],
      ['number', 'TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT BIGNUM'],
      ['number', 'FLOAT DOUBLE DECIMAL'],
      ['time', 'DATE TIME TIME_TZ TIME_NS TIMESTAMP TIMESTAMP_TZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS'],
      ['json', 'LIST STRUCT MAP ARRAY UNION VARIANT'],
    ] as const
  ).flatMap(([kind, ids]) =>
    ids.split(' ').map((id) => [DuckDBTypeId[id as keyof typeof DuckDBTypeId], kind] as const),
  ),
);

function converterOf({ id, kind }: { id: DuckDBTypeId; kind: CellKind }): (value: DuckDBValue) => ResultCell {
  if (id === DuckDBTypeId.FLOAT) return (value) => (typeof value === 'number' ? floatNumber(value) : cellOf(value));
  if (id === DuckDBTypeId.VARCHAR && kind === 'json') return (value) => (value === null ? null : checkedJson(value));
  return kind === 'json' ? (value) => (value === null ? null : nestedJson(value)) : cellOf;
}

function cellOf(value: DuckDBValue): ResultCell {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof DuckDBDecimalValue) return decimalText(value.value, value.scale);
  if (value instanceof DuckDBTimestampTZValue) return ticksText(value.micros, 6, 'Z');
  if (value instanceof DuckDBTimestampValue) return ticksText(value.micros, 6, '');
  if (value instanceof DuckDBDateValue) return dateText(value.days);
  if (value instanceof DuckDBTimestampSecondsValue) return ticksText(value.seconds, 0, '');
  if (value instanceof DuckDBTimestampMillisecondsValue) return ticksText(value.millis, 3, '');
  if (value instanceof DuckDBTimestampNanosecondsValue) return ticksText(value.nanos, 9, '');
  return value.toString();
}

/** A list, a struct, a map or a value inside one as JSON, with exact numbers. */
function nestedJson(value: DuckDBValue): string {
  if (value === null) return 'null';
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    return `[${value.items.map(nestedJson).join(',')}]`;
  }
  if (value instanceof DuckDBStructValue) {
    const names = Object.keys(value.entries);
    return `{${names.map((name) => `${JSON.stringify(name)}:${nestedJson(value.entries[name] ?? null)}`).join(',')}}`;
  }
  if (value instanceof DuckDBMapValue) {
    return `{${value.entries.map((entry) => `${mapKey(entry.key)}:${nestedJson(entry.value)}`).join(',')}}`;
  }
  if (value instanceof DuckDBUnionValue || value instanceof DuckDBVariantValue) return nestedJson(value.value);
  const cell = cellOf(value);
  if (cell === null || typeof cell === 'boolean') return String(cell);
  return value instanceof DuckDBDecimalValue || typeof cell !== 'string'
    ? jsonNumber(cellText(cell))
    : JSON.stringify(cell);
}

/** A map's key as the name of a JSON member. */
function mapKey(key: DuckDBValue): string {
  const text = nestedJson(key);
  return text.startsWith('"') ? text : JSON.stringify(text);
}

/** The text of a JSON column; as a JSON string where it isn't valid JSON, as in a file whose column type is wrong. */
function checkedJson(value: DuckDBValue): string {
  const text = typeof value === 'string' ? value : String(cellOf(value));
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
