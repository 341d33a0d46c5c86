import { createHash } from 'node:crypto';
import { LedgerlakeError, messageOf } from '../../core/errors.js';

/** The actions of the Delta Lake protocol that this program writes or reads, as they are in a commit file. */
export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

export interface MetaData {
  readonly id: string;
  readonly name?: string;
  readonly format: { readonly provider: string; readonly options: Record<string, string> };
  /** The schema in Delta's JSON form. */
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Record<string, string>;
  readonly createdTime?: number;
}

export interface Add {
  /** Relative to the table, percent-encoded. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** Statistics in Delta's JSON form. */
  readonly stats?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface Remove extends Partial<Pick<Add, 'partitionValues' | 'size' | 'stats' | 'tags'>> {
  readonly path: string;
  readonly deletionTimestamp: number;
  readonly dataChange: boolean;
  readonly extendedFileMetadata?: boolean;
}

/** An application's transaction: here a load key that a pipeline has read, with the number of times as version. */
export interface Txn {
  readonly appId: string;
  readonly version: number;
  readonly lastUpdated?: number;
}

export type Action =
  | { readonly protocol: Protocol }
  | { readonly metaData: MetaData }
  | { readonly add: Add }
  | { readonly remove: Remove }
  | { readonly txn: Txn }
  | { readonly commitInfo: Readonly<Record<string, unknown>> };

const restoreLog = 'restore the file from a copy, or run `ledgerlake rebuild --log`';

/** The error for a damaged file of a log, with the advice. */
export function logError(fault: string): LedgerlakeError {
  return new LedgerlakeError('LAKE_LOG', `${fault}; ${restoreLog}`);
}

/** Why a file of a log can't be read, without the advice. */
export function logFault(error: unknown): string {
  return messageOf(error).replace(`; ${restoreLog}`, '');
}

interface CommitId {
  readonly table: string;
  readonly version: number;
}

/**
 * Encodes actions, one a line. A leading `commitInfo` gets `operationMetrics` with the number of actions, the table,
 * the version and the SHA-256 of the file, so that a truncated, changed or exchanged file is detected.
 */
export function encodeActions(actions: readonly Action[], id: CommitId): Uint8Array {
  const [first] = actions;
  const lines = actions.map((action) => `${JSON.stringify(action)}\n`);
  if (first === undefined || !('commitInfo' in first)) return Buffer.from(lines.join(''));
  const rest = lines.slice(1).join('');
  const metrics = { actions: String(actions.length), table: id.table, version: String(id.version) };
  const sha256 = digest(withMetrics(first.commitInfo, metrics), rest);
  return Buffer.from(`${withMetrics(first.commitInfo, { ...metrics, sha256 })}\n${rest}`);
}

function withMetrics(commitInfo: Fields, operationMetrics: Fields): string {
  return JSON.stringify({ commitInfo: { ...commitInfo, operationMetrics } });
}

function digest(first: string, rest: string | Uint8Array): string {
  return createHash('sha256').update(`${first}\n`).update(rest).digest('hex');
}

/**
 * Reads a commit file. Unknown actions are kept but ignored, as the protocol requires: features that a reader must not ignore are
 * in `protocol`.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file, where a line isn't an action, or the file has changed since it was written
 */
export function decodeActions(bytes: Uint8Array, file: string, id: CommitId): Action[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines = buffer.toString('utf8').split('\n');
  const actions: Action[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    let action: unknown;
    try {
      action = JSON.parse(line);
    } catch (error) {
      throw damaged(file, index, messageOf(error));
    }
    actions.push(readAction(action, file, index));
  }
  if (actions.length === 0) throw damaged(file, 0, 'the file is empty');
  checkWritten(actions, buffer, file, id);
  return actions;
}

/** Whether a commit has a checksum, which was verified when it was read. */
export function isChecked(actions: readonly Action[]): boolean {
  return writtenMetrics(actions)?.metrics['sha256'] !== undefined;
}

/** The metrics in a commit of this program; undefined for another writer's. */
function writtenMetrics([first]: readonly Action[]):
  { readonly commitInfo: Fields; readonly metrics: Fields } | undefined {
  if (first === undefined || !('commitInfo' in first)) return undefined;
  const { engineInfo, operationMetrics: metrics } = first.commitInfo;
  const isOurs = typeof engineInfo === 'string' && engineInfo.startsWith('ledgerlake/');
  return isOurs && isObject(metrics) ? { commitInfo: first.commitInfo, metrics } : undefined;
}

function checkWritten(actions: readonly Action[], bytes: Buffer, file: string, id: CommitId): void {
  const written = writtenMetrics(actions);
  if (written === undefined) return;
  const { sha256, ...metrics } = written.metrics;
  const announced = Number(metrics['actions']);
  if (Number.isSafeInteger(announced) && announced > actions.length) {
    throw damaged(file, actions.length, `the file is cut off, it began with ${announced}`);
  }
  // Earlier program versions wrote none.
  if (sha256 === undefined) return;
  const rest = bytes.subarray(bytes.indexOf('\n') + 1);
  if (digest(withMetrics(written.commitInfo, metrics), rest) !== sha256) {
    throw logError(`expected ${file} as it was written, its bytes have changed`);
  }
  const { table, version } = metrics;
  if (table === id.table && version === String(id.version)) return;
  const found = `version ${String(version)} of ${String(table)}`;
  throw logError(`expected version ${id.version} of ${id.table} in ${file}, found ${found}`);
}

/**
 * Checks that a value is an action; `at` is its line or row in the file, from 0.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file and position where it isn't one
 */
export function readAction(value: unknown, file: string, at: number): Action {
  if (!isAction(value)) throw damaged(file, at, `found ${JSON.stringify(value).slice(0, 60)}`);
  return value;
}

function damaged(file: string, line: number, found: string): LedgerlakeError {
  return logError(`expected Delta actions in ${file}, got something else in line ${line + 1} (${found})`);
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks of the fields that this program uses. */
const shapes: Readonly<Record<string, (fields: Fields) => boolean>> = {
  protocol: (fields) =>
    typeof fields['minReaderVersion'] === 'number' && typeof fields['minWriterVersion'] === 'number',
  // `createdTime` is checked where it is used.
  metaData: ({ id, schemaString, partitionColumns, configuration, format }) =>
    typeof id === 'string' &&
    typeof schemaString === 'string' &&
    Array.isArray(partitionColumns) &&
    isTexts(configuration) &&
    isObject(format) &&
    isTexts(format['options']),
  add: ({ path, size, partitionValues, modificationTime, stats, tags }) =>
    typeof path === 'string' &&
    Number.isSafeInteger(size) &&
    isTexts(partitionValues) &&
    (isLeftOut(modificationTime) || Number.isSafeInteger(modificationTime)) &&
    (isLeftOut(stats) || typeof stats === 'string') &&
    (isLeftOut(tags) || (isTexts(tags) && /^\d{0,15}$/.test(tags['rows'] ?? ''))),
  remove: ({ path, deletionTimestamp, size, partitionValues }) =>
    typeof path === 'string' &&
    (isLeftOut(deletionTimestamp) || Number.isSafeInteger(deletionTimestamp)) &&
    (isLeftOut(size) || Number.isSafeInteger(size)) &&
    (isLeftOut(partitionValues) || isTexts(partitionValues)),
  txn: ({ appId, version }) => typeof appId === 'string' && Number.isSafeInteger(version),
};

/** Other writers omit unknown values, or write null. */
function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Whether a value is an object of texts and nulls. */
function isTexts(value: unknown): value is Readonly<Record<string, string | null>> {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string' || text === null);
}

function isAction(value: unknown): value is Action {
  if (!isObject(value)) return false;
  const [name, ...others] = Object.keys(value);
  const fields = name === undefined ? undefined : value[name];
  if (name === undefined || others.length > 0 || !isObject(fields)) return false;
  return shapes[name]?.(fields) ?? true;
}
