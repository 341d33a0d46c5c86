import { isDeepStrictEqual } from 'node:util';
import { compare } from '../../core/compare.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import type { ImportLimits } from './chunks/chunk-threads.js';
import type { Emit } from '../../core/events/run-event.js';
import { codeOf, messageOf } from '../../core/errors.js';
import { withDerived, type Chosen, type FileCommit, type WrittenFiles } from '../../lake/commit-files.js';
import type { LoadHole, LoadKey } from '../../lake/catalog/load-key.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { damagedFile } from '../../lake/files/local-file.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import type { CheckedFiles } from '../../lake/files/month-files.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { Lake } from '../../lake/lake.js';
import { keyChange } from '../../lake/loads/load-keys.js';
import type { Clock } from '../../core/clock.js';
import type { PipelineTables } from '../../core/columns/table.js';
import { loadedOf } from '../../lake/loads/imported-spans.js';
import type { ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';
import type { Window } from '../../core/windows.js';

/** The lake and the account of an import. */
export interface ImportTarget {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly account: string;
}

export interface ImportOptions extends ImportTarget {
  readonly signal: AbortSignal;
  /** Skips lines that are not bodies of the service, instead of leaving the whole input out. */
  readonly skipBroken: boolean;
  /** Of settlement reports; undefined: recognised. */
  readonly encoding?: ReportEncoding | undefined;
  readonly limits: ImportLimits;
  readonly emit: Emit;
}

/** What a snapshot has of the days that an import adds to: current as long as the loaded windows and the files are the same. */
export interface StoredRows extends Chosen {
  readonly keys: readonly LoadKey[];
  /** The loaded windows among them, joined. */
  readonly loaded: readonly Window[];
  /** Their files of the main table. */
  readonly files: readonly DataFile[];
}

/** What a snapshot has under load keys. */
export function storedRows(
  snapshot: Snapshot,
  account: string,
  pipeline: PipelineTables,
  isChosen: (window: Window, key: LoadKey) => boolean,
): StoredRows {
  const { name, main } = pipeline;
  const keys = [...snapshot.keysOf(account, name).values()].filter(
    (key) => key.window !== undefined && isChosen(key.window, key),
  );
  const named = keys.map(({ key }) => key);
  const stored: StoredRows = {
    keys,
    loaded: loadedOf(keys),
    files: snapshot.filesWith(main.name, account, name, named),
    isCurrent: (newest) => isSame(stored, storedRows(newest, account, pipeline, isChosen)),
  };
  return stored;
}

function isSame(one: StoredRows, other: StoredRows): boolean {
  const compared = ({ loaded, files }: StoredRows) => [loaded, files.map(({ path }) => path).toSorted()];
  return isDeepStrictEqual(compared(one), compared(other));
}

/** What reads files of the lake. */
export interface StoredReading {
  readonly workspace: Workspace;
  readonly files: CheckedFiles;
}

/**
 * Runs a step over local copies of files of events.
 *
 * @throws DamagedFile where one of them can't be read; what the step throws
 */
export async function withStoredFiles<T>(
  { lake }: ImportTarget,
  { workspace: { database }, files }: StoredReading,
  chosen: readonly DataFile[],
  step: (paths: readonly string[]) => Promise<T>,
): Promise<T> {
  const pathsOf = async (some: readonly DataFile[]) => (await files.of(some)).flatMap((month) => month.paths);
  const paths = await pathsOf(chosen);
  try {
    return await step(paths);
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    for (const file of chosen) {
      // The hash reads every value.
      const sql = `SELECT bit_xor(hash(of)) AS read FROM ${rowsIn(await pathsOf([file]))} AS of`;
      await database.rows(sql).catch((reason: unknown) => {
        const [fault = ''] = messageOf(reason).split('\n');
        throw damagedFile(lake.store, file, `it can't be read as a file of events (${fault})`);
      });
    }
    throw error;
  }
}

/** Imported files to commit. */
interface ImportedFiles extends Pick<FileCommit, 'files' | 'over'> {
  /** The load keys of their rows. */
  readonly loadKeys: readonly string[];
  /** Files that are replaced; others stay. */
  readonly replaced?: readonly DataFile[];
}

/** Commits imported files. */
export function commitImported(
  { lake, clock, account }: ImportTarget,
  { name: pipeline, main }: PipelineTables,
  { loadKeys, replaced = [], ...written }: ImportedFiles,
): Promise<WrittenFiles> {
  return lake.commitFiles({
    operation: 'IMPORT',
    main,
    ...written,
    replaced: (snapshot) => {
      const holes = new Map(
        loadKeys.flatMap((key) => {
          const kept = snapshot.key({ account, pipeline, key })?.holes;
          return kept === undefined ? [] : [[key, kept]];
        }),
      );
      const loads = { pipeline, account, loadKeys, holes, origin: 'import' as const };
      return { removed: withDerived(snapshot, replaced), keys: keyChange(snapshot, loads, clock.now()) };
    },
  });
}

/** An event of a file that could not be read. */
export type FileHole = Extract<LoadHole, { readonly file: string }>;

/** The holes of an input, by each load key that it fills: also the keys without one. */
export type KeyHoles = ReadonlyMap<string, readonly FileHole[]>;

/**
 * Sets the holes of inputs in the load keys that these fill, in place of those of earlier inputs of the same names. Days that a loaded
 * window covers have no such load key: the API has answered for them.
 */
export async function commitHoles(
  { lake, account }: ImportTarget,
  { name: pipeline, main }: PipelineTables,
  inputs: readonly { readonly file: string; readonly holes: KeyHoles }[],
): Promise<void> {
  /** By load key and name of a file: of inputs of the same name the last one counts. */
  const found = new Map<string, Map<string, readonly FileHole[]>>();
  for (const { file, holes } of inputs) {
    for (const [key, own] of holes)
      found.set(key, (found.get(key) ?? new Map<string, readonly FileHole[]>()).set(file, own));
  }
  const changed = (snapshot: Snapshot, key: string, byFile: ReadonlyMap<string, readonly FileHole[]>): LoadKey[] => {
    const stored = snapshot.key({ account, pipeline, key });
    if (stored === undefined) return [];
    const { window, readAt, since, origin, holes: before = [] } = stored;
    const others = before.flatMap((hole) => ('file' in hole && !byFile.has(hole.file) ? [hole] : []));
    const holes = [...others, ...[...byFile.values()].flat()].toSorted(
      (a, b) => compare(a.file, b.file) || a.line - b.line || a.byte - b.byte,
    );
    if (isDeepStrictEqual(holes, before)) return [];
    const loadKey = { account, pipeline, key, ...(window && { window }), readAt, since, origin };
    return [{ ...loadKey, ...(holes.length > 0 && { holes }) }];
  };
  await lake.commitFiles({
    operation: 'IMPORT',
    main,
    files: [],
    replaced: (snapshot) => {
      const set = [...found].flatMap(([key, byFile]) => changed(snapshot, key, byFile));
      return set.length === 0 ? undefined : { removed: [], keys: { set } };
    },
  });
}
