import { LedgerlakeError, messageOf } from '../../core/errors.js';

/** The actions of the Delta Lake protocol that this program writes or reads, as they stand in a commit file. */
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

export interface Remove {
  readonly path: string;
  readonly deletionTimestamp: number;
  readonly dataChange: boolean;
  readonly extendedFileMetadata?: boolean;
  readonly partitionValues?: Readonly<Record<string, string | null>>;
  readonly size?: number;
  readonly stats?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** What an application has done: here, the units that a pipeline has read, with how often. */
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

/** One action a line. The first, if it tells of the commit, also tells how many there are: a file cut short shows. */
export function encodeActions(actions: readonly Action[]): Uint8Array {
  const [first, ...others] = actions;
  const counted: readonly Action[] =
    first !== undefined && 'commitInfo' in first
      ? [{ commitInfo: { ...first.commitInfo, operationMetrics: { actions: String(actions.length) } } }, ...others]
      : actions;
  return Buffer.from(counted.map((action) => `${JSON.stringify(action)}\n`).join(''));
}

/**
 * Reads a commit file. Actions that this program doesn't know are passed over, as the protocol asks: what a reader must
 * not pass over stands in `protocol`.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file and line that isn't an action
 */
export function decodeActions(bytes: Uint8Array, file: string): Action[] {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').split('\n');
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
  const announced = announcedActions(actions[0]);
  if (announced !== undefined && announced > actions.length) {
    throw damaged(file, actions.length, `the file is cut off, it began with ${announced}`);
  }
  return actions;
}

/** How many actions a commit of this program says that it has; other writers don't say. */
function announcedActions(first: Action | undefined): number | undefined {
  if (first === undefined || !('commitInfo' in first)) return undefined;
  const { engineInfo, operationMetrics } = first.commitInfo;
  if (typeof engineInfo !== 'string' || !engineInfo.startsWith('ledgerlake/') || !isObject(operationMetrics))
    return undefined;
  const announced = Number(operationMetrics['actions']);
  return Number.isSafeInteger(announced) ? announced : undefined;
}

/**
 * Takes a value for an action: `at` is its line or row in the file, from 0.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file and place where it isn't one
 */
export function readAction(value: unknown, file: string, at: number): Action {
  if (!isAction(value)) throw damaged(file, at, `found ${JSON.stringify(value).slice(0, 60)}`);
  return value;
}

function damaged(file: string, line: number, found: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected Delta actions in ${file}, number ${line + 1} isn't one (${found}); restore the file from a copy`,
  );
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields that this program relies on, each with what it must be. */
const shapes: Readonly<Record<string, (fields: Fields) => boolean>> = {
  protocol: (fields) =>
    typeof fields['minReaderVersion'] === 'number' && typeof fields['minWriterVersion'] === 'number',
  metaData: (fields) =>
    typeof fields['id'] === 'string' &&
    typeof fields['schemaString'] === 'string' &&
    Array.isArray(fields['partitionColumns']),
  add: (fields) =>
    typeof fields['path'] === 'string' && typeof fields['size'] === 'number' && isObject(fields['partitionValues']),
  remove: (fields) => typeof fields['path'] === 'string',
  txn: (fields) => typeof fields['appId'] === 'string' && typeof fields['version'] === 'number',
};

function isAction(value: unknown): value is Action {
  if (!isObject(value)) return false;
  const [name, ...others] = Object.keys(value);
  const fields = name === undefined ? undefined : value[name];
  if (name === undefined || others.length > 0 || !isObject(fields)) return false;
  return shapes[name]?.(fields) ?? true;
}
