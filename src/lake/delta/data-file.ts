import { LedgerlakeError } from '../../core/errors.js';
import { type Add, type Fields, isObject } from './actions.js';

/** Sums by currency: `{"USD":"12.340000"}`. */
export type NetSums = Readonly<Record<string, string>>;

/** A group of a listing; instants in milliseconds since 1970; null: absent. */
export interface GroupSpan {
  /** Empty: absent. */
  readonly id: string;
  readonly start: number | null;
  readonly end: number | null;
  /** It is open although it has an end. */
  readonly open?: true;
  /** It is closed, and its total is still missing. */
  readonly awaited?: true;
}

/** What the log says of a file's rows, so that nobody needs to read them for it. */
export interface FileFigures {
  /** Exact net sums of the entries. */
  readonly net?: NetSums | undefined;
  /** The groups of a listing. */
  readonly groups?: readonly GroupSpan[] | undefined;
}

/** A value that a file's entry has; undefined where its JSON can't be read. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A text of a file's entry, for messages. */
export function shownText(tag: string | undefined): string {
  return tag === undefined ? 'none' : JSON.stringify(tag.slice(0, 60));
}

/** The path within the lake of a table's file. */
export function lakePathOf(table: string, { path }: Pick<Add, 'path'>): string {
  return `${table}/${path.includes('%') ? decodeURIComponent(path) : path}`;
}

/** What files with the same rows have in common: the pipeline, the account, and what a newer program says of them. */
export type SharedTags = Readonly<Record<string, string>>;

/** A file's statistics, as Delta has them. */
export interface FileStatistics extends Readonly<Record<'minValues' | 'maxValues' | 'nullCount', Fields>> {
  readonly numRecords: number | undefined;
}

/**
 * A data file in a snapshot: Delta's `add`, and what its tags and statistics say. These are parsed where they are asked for, because a log
 * has very many entries. Another program may have written them: each getter that parses JSON throws a LedgerlakeError LAKE_LOG then.
 */
export class DataFile implements Add {
  declare readonly path: string;
  declare readonly partitionValues: Add['partitionValues'];
  declare readonly size: number;
  declare readonly modificationTime: number;
  declare readonly dataChange: boolean;
  declare readonly stats?: string;
  declare readonly tags?: Readonly<Record<string, string>>;
  // No property of its own, as the entry is written as it is.
  readonly #table: string;

  constructor(add: Add, table: string) {
    this.#table = table;
    // A newer program may add fields: those by the name of a getter here are left out.
    const isGetter = (name: string): boolean => name in DataFile.prototype;
    const hasOthers = Object.keys(add).some(isGetter);
    Object.assign(this, hasOthers ? Object.fromEntries(Object.entries(add).filter(([name]) => !isGetter(name))) : add);
  }

  /** The name of its table. */
  get table(): string {
    return this.#table;
  }

  /** Its path within the lake. */
  get lakePath(): string {
    return lakePathOf(this.#table, this);
  }

  get account(): string {
    return this.partitionValues['account'] ?? '';
  }

  /** The month of its folder: `2025-03`, or `unknown`. */
  get month(): string {
    return this.partitionValues['month'] ?? '';
  }

  /** Empty: another program added it. */
  get pipeline(): string {
    return this.tags?.['pipeline'] ?? '';
  }

  /** The number of its rows; NaN where its tag is no number. */
  get rows(): number {
    return Number(this.tags?.['rows'] ?? 0);
  }

  /** The hash of its bytes; undefined where the log doesn't say. */
  get sha256(): string | undefined {
    return this.tags?.['sha256'];
  }

  /** The main table's file that the rows of a derived file belong to, as a path within the lake; undefined for a file of a main table. */
  get main(): string | undefined {
    return this.tags?.['main'];
  }

  /** The load keys of its rows. */
  get loadKeys(): readonly string[] {
    return deltaJson(this.tags?.['loadKeys'] ?? '[]', 'a list', isList).map(String);
  }

  /** Their tag, where it can't be read. */
  get loadKeysTag(): string {
    return this.tags?.['loadKeys'] ?? '';
  }

  get net(): NetSums | undefined {
    const text = this.tags?.['net'];
    return text === undefined ? undefined : deltaJson(text, 'sums by currency', isNetSums);
  }

  get groups(): readonly GroupSpan[] | undefined {
    const text = this.tags?.['groups'];
    return text === undefined ? undefined : deltaJson(text, 'settlements', isGroupSpans);
  }

  /** What it has in common with files of the same rows. */
  get shared(): SharedTags {
    return sharedTags([this]);
  }

  /** The names of its figures. */
  get figures(): readonly (keyof FileFigures)[] {
    return (['net', 'groups'] as const).filter((name) => this.tags?.[name] !== undefined);
  }

  /** Its statistics by column; empty where the log doesn't say. */
  get statistics(): FileStatistics {
    const fields = (value: unknown): Fields => (isObject(value) ? value : {});
    const { numRecords, minValues, maxValues, nullCount } = deltaJson(this.stats ?? '{}', 'statistics', isObject);
    return {
      numRecords: typeof numRecords === 'number' ? numRecords : undefined,
      minValues: fields(minValues),
      maxValues: fields(maxValues),
      nullCount: fields(nullCount),
    };
  }

  /** Those of a column, which `verify` compares with the file. */
  columnStatistics(column: string): {
    /** The bounds of its values as texts, such as ISO 8601 instants; undefined where the log doesn't say. */
    readonly least: string | undefined;
    readonly greatest: string | undefined;
    /** Whether the log says that every row has a value. */
    readonly hasNoNull: boolean;
  } {
    const { minValues, maxValues, nullCount } = this.statistics;
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { least: text(minValues[column]), greatest: text(maxValues[column]), hasNoNull: nullCount[column] === 0 };
  }

  /** What is wrong with its tags, in words; undefined where all of them can be read. */
  get tagFault(): string | undefined {
    const tags = this.tags ?? {};
    const { account } = this;
    if (tags['pipeline'] === undefined) return 'the file has none of the tags of ledgerlake: another program added it';
    const loadKeys = ifReadable(() => deltaJson(tags['loadKeys'] ?? '', 'a list', isTexts));
    if (loadKeys === undefined || loadKeys.length === 0)
      return `expected the tag loadKeys to be a list, got ${shownText(tags['loadKeys'])}`;
    if (!/^\d+$/.test(tags['rows'] ?? ''))
      return `expected the tag rows to be a number, got ${shownText(tags['rows'])}`;
    if (!/^[0-9a-f]{64}$/.test(tags['sha256'] ?? ''))
      return `expected the tag sha256, got ${shownText(tags['sha256'])}`;
    if (tags['account'] !== account)
      return `expected the tag account to be ${account}, got ${shownText(tags['account'])}`;
    return undefined;
  }
}

/** The total rows of files by their log entries. */
export function rowsOf(files: readonly Pick<DataFile, 'rows'>[]): number {
  return files.reduce((sum, { rows }) => sum + rows, 0);
}

/** Tags that are set for each file, and never shared. */
const perFileTags: ReadonlySet<string> = new Set(['loadKeys', 'rows', 'sha256', 'main', 'net', 'groups']);

/** What is equal in all files, beside what is set for each. */
export function sharedTags(files: readonly Add[]): SharedTags {
  const [first = {}, ...others] = files.map(({ tags = {} }) => tags);
  const shared = Object.entries(first).filter(
    ([name, value]) => !perFileTags.has(name) && others.every((tags) => tags[name] === value),
  );
  return Object.fromEntries(shared);
}

/**
 * Parses JSON in a file's log entry. It is parsed where it is used, because a log has very many entries.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't what is expected
 */
function deltaJson<T>(text: string, expected: string, isIt: (value: unknown) => value is T): T {
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

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return isList(value) && value.every((one) => typeof one === 'string');
}

function isNetSums(value: unknown): value is NetSums {
  return (
    isObject(value) &&
    Object.values(value).every((sum) => typeof sum === 'string' && /^-?\d{1,30}(?:\.\d{1,6})?$/.test(sum))
  );
}

function isGroupSpans(value: unknown): value is readonly GroupSpan[] {
  const isInstant = (instant: unknown) => instant === null || Number.isSafeInteger(instant);
  return (
    Array.isArray(value) &&
    value.every(
      (span) => isObject(span) && typeof span['id'] === 'string' && isInstant(span['start']) && isInstant(span['end']),
    )
  );
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
