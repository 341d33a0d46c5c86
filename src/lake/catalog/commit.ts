import { compare } from '../../core/compare.js';
import { catalogError, isObject, type Fields } from '../delta/actions.js';
import { checkActionPaths } from '../delta/action-paths.js';
import { newerProgram } from './catalog-errors.js';
import type { Change, TableChange } from './change.js';
import { createHash } from 'node:crypto';

/**
 * The versions of the catalog that this program reads and writes. `format` is the form of the documents. A program reads
 * the lake where its reader version is at least that of each commit, and commits where its writer version is. A later
 * program raises the first where older ones would read wrongly, the second where they would write wrongly.
 */
export const supported = { format: 1, minReaderVersion: 1, minWriterVersion: 1 } as const;

/** A commit without what it changes. */
export interface CommitHeader {
  readonly version: number;
  /** The hash of the commit before it. */
  readonly previous: string;
  /** The run that made it. */
  readonly run: string;
  /** Unique to this attempt at a version, so that its writer recognizes it. */
  readonly nonce: string;
  /** Milliseconds since 1970, never earlier than that of the commit before it. */
  readonly at: number;
  /** `WRITE`, `OPTIMIZE`. */
  readonly operation: string;
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

/** One version of the lake. */
export interface Commit extends CommitHeader, Change {
  readonly format: number;
  /** The tables that it touches, published as one version of each. */
  readonly tables: Readonly<Record<string, TableChange>>;
}

export interface SealedCommit extends Sealed<Commit> {
  readonly bytes: Uint8Array;
}

/** What is left of an erased commit: its name stays taken, and the chain whole. */
export interface ErasedStub {
  readonly format: number;
  readonly version: number;
  readonly previous: string;
  readonly at: number;
  /** The hash that the commit had. */
  readonly erased: string;
}

/** The hashes of a commit, and of the one before it, also where only its stub is left. */
export function hashesOf(found: SealedCommit | ErasedStub): { readonly own: string; readonly previous: string } {
  return 'erased' in found
    ? { own: found.erased, previous: found.previous }
    : { own: found.hash, previous: found.value.previous };
}

/** The `previous` of the first commit. */
export const noHash = '0'.repeat(64);

/**
 * The commit in its one form: fields of the commit and of a table in the order below, all others by name, without empty
 * ones. So it can be written again byte for byte from its publications.
 */
export function canonicalCommit(header: CommitHeader, change: Change): Commit {
  const { version, previous, run, nonce, at, operation, minReaderVersion, minWriterVersion } = header;
  const { tables = {}, keys, fence, deleted, config, forgotten } = change;
  const names = Object.keys(tables).toSorted(compare);
  return {
    format: supported.format,
    minReaderVersion,
    minWriterVersion,
    version,
    previous,
    run,
    nonce,
    at,
    operation,
    ...filled({
      keys: filled(keys ?? {}),
      fence: filled(fence ?? {}),
      deleted,
      config: filled(config ?? {}),
      forgotten,
    }),
    tables: Object.fromEntries(names.map((name) => [name, canonicalTable(tables[name] ?? {})])),
  };
}

/** The same of one table. */
export function canonicalTable({ metaData, description, remove, add }: TableChange): TableChange {
  return filled({ metaData, description, remove, add });
}

/** The fields that have something, what is within them by name. */
function filled<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const some = Object.entries(fields).filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(some.map(([name, value]) => [name, ordered(value)])) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The same JSON value with the fields of each object in the order of their names. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return Object.fromEntries(names.toSorted(compare).map((name) => [name, ordered(value[name])]));
}

export function sealCommit(value: Commit): SealedCommit {
  return { value, ...seal(value) };
}

export function sealStub({ value, hash }: Sealed<Pick<Commit, 'version' | 'previous' | 'at'>>): Uint8Array {
  const { version, previous, at } = value;
  const stub: ErasedStub = { format: supported.format, version, previous, at, erased: hash };
  return seal(stub).bytes;
}

/**
 * Reads the file of a commit.
 *
 * @param file its path, for messages
 * @throws LedgerlakeError LAKE_LOG where it has changed since it was written, or is another version's or a newer program's
 */
export function readCommit(bytes: Uint8Array, version: number, file: string): SealedCommit | ErasedStub {
  const sealed = unseal(bytes);
  if (sealed === undefined) throw catalogError(`expected ${file} as it was written, its bytes have changed`);
  const { value, hash } = sealed;
  if (!isObject(value)) throw malformed(file, 'it is no object');
  checkFormat(value, file);
  if (value['version'] !== version) {
    throw catalogError(
      `expected version ${version} of the catalog in ${file}, found ${JSON.stringify(value['version'])}`,
    );
  }
  if ('erased' in value) {
    if (isText(value['erased']) && isText(value['previous']) && isNumber(value['at']))
      return value as unknown as ErasedStub;
    throw malformed(file, 'it is no whole stub');
  }
  const fault = commitFault(value);
  if (fault !== undefined) throw malformed(file, fault);
  const commit = value as unknown as Commit;
  for (const { add = [], remove = [] } of Object.values(commit.tables)) {
    for (const one of add) checkActionPaths({ add: one }, file);
    for (const one of remove) checkActionPaths({ remove: { ...one, deletionTimestamp: commit.at } }, file);
  }
  return { value: commit, hash, bytes };
}

/**
 * Refuses a document that this program can't read.
 *
 * @throws LedgerlakeError LAKE_LOG
 */
export function checkFormat({ format, minReaderVersion = 1 }: Fields, file: string): void {
  if (!isNumber(format) || !isNumber(minReaderVersion)) throw malformed(file, 'it has no format');
  if (format > supported.format) throw newerProgram(file, 'catalog format', format, supported.format);
  if (minReaderVersion > supported.minReaderVersion) {
    throw newerProgram(file, 'catalog reader version', minReaderVersion, supported.minReaderVersion);
  }
}

function malformed(file: string, fault: string): Error {
  return catalogError(`expected a commit of the catalog in ${file}, found something else (${fault})`);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
const isLeftOut = (value: unknown): value is undefined => value === undefined;

/** Whether a value is left out, or a list of what passes. */
function isListOf(value: unknown, passes: (item: unknown) => boolean): boolean {
  return isLeftOut(value) || (Array.isArray(value) && value.every(passes));
}

/** Why a document is no commit; undefined where it is one. Fields that aren't known are a newer program's. */
function commitFault(value: Fields): string | undefined {
  const { previous, run, nonce, at, operation, minWriterVersion, tables } = value;
  const { keys = {}, fence = {}, config = {}, forgotten = {} } = value;
  if (![previous, run, nonce, operation].every(isText) || !isNumber(at) || !isNumber(minWriterVersion)) {
    return 'its header is not whole';
  }
  if (!isObject(tables)) return 'it has no tables';
  for (const [name, table] of Object.entries(tables))
    if (!isTableChange(table)) return `its change of the table ${name}`;
  if (!isObject(keys) || !isListOf(keys['set'], isLoadKey) || !isListOf(keys['delete'], isLoadKeyId))
    return 'its load keys';
  if (!isObject(fence) || !isListOf(fence['runs'], isText)) return 'its fences';
  if (!isLeftOut(fence['before']) && !isNumber(fence['before'])) return 'its fences';
  if (!isListOf(value['deleted'], isText)) return 'its deleted files';
  if (!isObject(config) || !(isLeftOut(config['retentionMs']) || isNumber(config['retentionMs'])))
    return 'its settings';
  if (!isObject(forgotten) || !Object.values(forgotten).every((before) => before === null || isNumber(before)))
    return 'what it forgets';
  return undefined;
}

function isTableChange(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { metaData, description, remove, add } = value;
  const isDescribed = isLeftOut(metaData) || (isObject(metaData) && isText(metaData['schemaString']));
  return (
    isDescribed &&
    (isLeftOut(description) || isObject(description)) &&
    isListOf(remove, isFile) &&
    isListOf(add, isFile)
  );
}

function isFile(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { path, partitionValues, size, stats, tags = {} } = value;
  if (!isText(path) || !isNumber(size) || !isObject(partitionValues) || !isObject(tags)) return false;
  const texts = [...Object.values(partitionValues), ...Object.values(tags)];
  return (
    isText(partitionValues['account']) &&
    texts.every((text) => isText(text) || text === null) &&
    (isLeftOut(stats) || isText(stats))
  );
}

function isLoadKeyId(value: unknown): value is Fields {
  return isObject(value) && isText(value['account']) && isText(value['pipeline']) && isText(value['key']);
}

function isLoadKey(value: unknown): boolean {
  if (!isLoadKeyId(value)) return false;
  const { window, readAt, since, origin, holes } = value;
  const isWindow = (one: unknown): one is Fields => isObject(one) && isNumber(one['start']) && isNumber(one['end']);
  const isSpan = (one: unknown) => isWindow(one) && isNumber(one['since']);
  if (!isNumber(readAt) || (!isLeftOut(window) && !isWindow(window))) return false;
  if (!isNumber(since) && !(Array.isArray(since) && since.every(isSpan))) return false;
  return (origin === 'api' || origin === 'import') && isListOf(holes, isObject);
}

/** A JSON document with the hash of its own text. */
export interface Sealed<T> {
  readonly value: T;
  /** SHA-256 of the document without the seal, in 64 hexadecimal digits. */
  readonly hash: string;
}

const sealOf = (hash: string) => `,"sha256":"${hash}"}\n`;
const sealLength = sealOf('0'.repeat(64)).length;

/** Encodes a document, and appends the SHA-256 of its text as its last field, so that it stays one JSON document. */
export function seal(value: object): { readonly bytes: Uint8Array; readonly hash: string } {
  const text = JSON.stringify(value);
  const hash = createHash('sha256').update(text).digest('hex');
  return { bytes: Buffer.from(text.slice(0, -1) + sealOf(hash)), hash };
}

/** Decodes a sealed document; undefined where any bit of it has changed. */
export function unseal(bytes: Uint8Array): Sealed<unknown> | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length <= sealLength) return undefined;
  const text = buffer.subarray(0, -sealLength);
  const hash = createHash('sha256').update(text).update('}').digest('hex');
  if (buffer.toString('latin1', text.length) !== sealOf(hash)) return undefined;
  try {
    return { value: JSON.parse(`${text.toString('utf8')}}`), hash };
  } catch {
    // Sealed by somebody else.
    return undefined;
  }
}
