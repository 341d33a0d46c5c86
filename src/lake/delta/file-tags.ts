import { hash } from 'node:crypto';
import { LedgerlakeError } from '../../core/errors.js';
import { type Add, type Fields, isObject } from './actions.js';

/** The main table's file that the rows of a derived file belong to, as a path within the lake; undefined for a file of a main table. */
export function mainOf(add: Add): string | undefined {
  return add.tags?.['main'];
}

/** Whether a file is of a derived table: it is replaced with the main table's file that it names. */
export function isDerivedFile(add: Add): boolean {
  return mainOf(add) !== undefined;
}

/** The total rows of files by their log entries. */
export function rowsInLog(adds: readonly Add[]): number {
  return adds.reduce((sum, { tags }) => sum + Number(tags?.['rows'] ?? 0), 0);
}

/** The load keys of a file's rows. */
export function loadKeysOf(add: Add): readonly string[] {
  const tag = add.tags?.['loadKeys'];
  if (tag === undefined) return [];
  const keys = loggedJson(tag, 'a list', (value): value is unknown => value !== undefined);
  return Array.isArray(keys) ? keys.map(String) : [];
}

/**
 * Parses JSON in a file's log entry. It is parsed where it is used, because a log has very many entries.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't what is expected
 */
export function loggedJson<T>(text: string, expected: string, isIt: (value: unknown) => value is T): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below, with what was expected.
  }
  if (value !== undefined && isIt(value)) return value;
  const found = JSON.stringify(text.slice(0, 60));
  throw new LedgerlakeError(
    'LAKE_LOG',
    `expected ${expected} as JSON in a file's entry of the log, found ${found}; \`ledgerlake verify\` names the file`,
  );
}

/** A Parquet file that is to be added to a table. */
export interface AddedFile extends Pick<Add, 'path' | 'partitionValues' | 'dataChange'> {
  readonly content: { readonly size: number; readonly sha256: string };
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** The action that adds a file, with its rows and its hash as tags (Delta protocol, "Add File"). `now`: milliseconds since 1970. */
export function addOf({ path, partitionValues, dataChange, content, rows, stats, tags }: AddedFile, now: number): Add {
  const { size, sha256 } = content;
  const times = { modificationTime: now, dataChange };
  return { path, partitionValues, size, ...times, stats, tags: { ...tags, rows: String(rows), sha256 } };
}

/** Size and SHA-256 of a file's bytes. */
export function contentOf(bytes: Uint8Array): AddedFile['content'] {
  return { size: bytes.length, sha256: hash('sha256', bytes) };
}

/** A committed file that is missing or was changed by another program. */
export class DamagedFile extends LedgerlakeError {
  /** What was expected and what was found, without advice. */
  readonly found: string;

  /** What is wrong with it, in words. */
  readonly fault: string;

  constructor(address: string, fault: string, advice: string) {
    const found = `expected ${address} as its commit has it, ${fault}`;
    super('LAKE_STORE', `${found}; it was not changed: ${advice}`);
    this.found = found;
    this.fault = fault;
  }
}

/** A file's statistics of a column. */
export interface LoggedStatistics {
  /** The bounds of its values as texts, such as ISO 8601 instants; undefined where the log doesn't say. */
  readonly least: string | undefined;
  readonly greatest: string | undefined;
  /** Whether the log says that every row has a value. */
  readonly hasNoNull: boolean;
}

/** The statistics of a column in the log, which `verify` compares with the file. */
export function columnStatistics({ stats }: { readonly stats?: string | undefined }, column: string): LoggedStatistics {
  const { minValues, maxValues, nullCount } = statisticsOf(stats);
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { least: text(minValues[column]), greatest: text(maxValues[column]), hasNoNull: nullCount[column] === 0 };
}

type Statistics = Readonly<Record<'minValues' | 'maxValues' | 'nullCount', Fields>>;

/**
 * A file's statistics by column; empty where the log doesn't say.
 *
 * @throws LedgerlakeError LAKE_LOG where they aren't JSON
 */
export function statisticsOf(stats: string | undefined): Statistics {
  const fields = (value: unknown): Fields => (isObject(value) ? value : {});
  const { minValues, maxValues, nullCount } = loggedJson(stats ?? '{}', 'statistics', isObject);
  return { minValues: fields(minValues), maxValues: fields(maxValues), nullCount: fields(nullCount) };
}
