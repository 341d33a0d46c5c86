import { LedgerlakeError } from '../../core/errors.js';

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

export type Action =
  | { readonly protocol: Protocol }
  | { readonly metaData: MetaData }
  | { readonly add: Add }
  | { readonly remove: Remove }
  | { readonly commitInfo: Readonly<Record<string, unknown>> };

/** The error for what can't be read of a log, with the advice. */
export function catalogError(fault: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `${fault}; run \`ledgerlake repair\`, or restore the file from a copy of the lake`,
  );
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
