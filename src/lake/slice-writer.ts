import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import type { Snapshot } from './catalog/snapshot.js';
import { lakePathOf } from './catalog/change.js';
import { notCommitted, type CommitResult, type FileCommit } from './commit-files.js';
import type { Add } from './delta/actions.js';
import { importSpansOf, rowsInLog, type ImportSpan } from './delta/file-tags.js';
import { TableSnapshot } from './catalog/table-snapshot.js';
import { importedKey } from './loads/imported-days.js';
import {
  displacedKeys,
  filesOf,
  filesToReplace,
  filesToSplit,
  hasConflict,
  keyChange,
  replacedKeys,
} from './loads/load-keys.js';
import {
  sliceAdd,
  type ComparedLake,
  type Remainder,
  type RevisionToCommit,
  type Revisions,
  type SliceCommit,
  type SliceFile,
} from './slice-commit.js';

/**
 * Writes what stays of the files of the slice's main table that have load keys of the slice and others, and calls `use` with it:
 * undefined where no file has others. Undated imported events move to other days before, in a commit of their own.
 *
 * @throws DamagedFile for a file that can't be read; what `use` throws
 */
export type Split = <T>(slice: SliceCommit, use: (remainder: Remainder | undefined) => Promise<T>) => Promise<T>;

/** A lake that slices are committed to. */
interface WrittenLake extends ComparedLake {
  commitFiles(commit: FileCommit): Promise<CommitResult>;
}

/** Commits slices to a lake: see `Lake.commit`. */
export class SliceWriter {
  readonly #lake: WrittenLake;
  readonly #clock: Clock;
  readonly #revisions: Revisions | undefined;
  readonly #splitting = new Mutex();
  readonly #displacing = new Mutex();

  constructor(lake: WrittenLake, clock: Clock, revisions: Revisions | undefined) {
    this.#lake = lake;
    this.#clock = clock;
    this.#revisions = revisions;
  }

  async commit(slice: SliceCommit, split?: Split): Promise<CommitResult> {
    const main = slice.tables.at(-1);
    if (main === undefined) throw new Error(`the pipeline ${slice.pipeline} has no table`);
    if (split === undefined || !this.#displaces(slice, main)) return this.#commitWhole(slice, main, split);
    // Which day undated imported events move to depends on the loaded windows.
    return this.#displacing.run(() => this.#commitWhole(slice, main, split));
  }

  async #commitWhole(slice: SliceCommit, main: Table, split: Split | undefined): Promise<CommitResult> {
    for (let attempt = 1; ; attempt++) {
      const replaces = slice.refresh || (slice.retires ?? []).length > 0;
      const revision = replaces ? await this.#revisions?.compare(this.#lake, slice) : undefined;
      if (revision?.verdict === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision?.verdict === 'refused') return notCommitted;
      const mayBeMixed = split !== undefined && (replaces || this.#displaces(slice, main));
      const commit = async (): Promise<SliceResult> => {
        const displacedPaths = this.#displacedPaths(this.#lake.snapshot, slice, main);
        const isCurrent = (snapshot: Snapshot) =>
          split === undefined || this.#displacedPaths(snapshot, slice, main) === displacedPaths;
        const one = { slice, main, revision, isCurrent };
        if (!mayBeMixed) return this.#commitOne(one, undefined);
        return split({ ...slice, loadKeys: replacedKeys(slice) }, (remainder) => this.#commitOne(one, remainder));
      };
      // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
      const isMixed = mayBeMixed && this.#isMixed(slice, main);
      const { isStale, mixed, ...committed } = await (isMixed ? this.#splitting.run(commit) : commit());
      if (committed.isCommitted) revision?.committed();
      if (!isStale) return committed;
      if (attempt < mostSplits) continue;
      if (mixed !== undefined) throw mixedFailure(this.#lake.store.address(lakePathOf(main.name, mixed)), slice);
      return committed;
    }
  }

  #isMixed(slice: SliceCommit, main: Table): boolean {
    const mixed = filesToSplit(this.#lake.snapshot, this.#lake.table(main.name).snapshot, slice);
    return mixed.length > 0 || undatedFiles(this.#lake.snapshot, slice, main).length > 0;
  }

  /** Refuses to replace imported rows by nothing: they may be the only copy, as the upstream has no data older than two years. */
  #refuseEmptying(slice: SliceCommit, main: Table, remainder: Remainder | undefined): void {
    if (slice.acceptsEmpty === true || slice.files.some(({ table }) => table === main)) return;
    const { snapshot } = this.#lake;
    if (displacedKeys(snapshot, slice).length === 0) return;
    const stored = filesToReplace(snapshot, this.#lake.table(main.name).snapshot, slice);
    const kept = remainder?.files.filter(({ table }) => table === main).map(({ add }) => add) ?? [];
    const rows = rowsInLog(stored) - rowsInLog(kept);
    if (rows === 0) return;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ` +
        'none from the service; the imported rows stay, --accept-empty removes them',
    );
  }

  /** Whether the slice replaces imported rows, or may do so. */
  #displaces(slice: SliceCommit, main: Table): boolean {
    return (
      displacedKeys(this.#lake.snapshot, slice).length > 0 || undatedFiles(this.#lake.snapshot, slice, main).length > 0
    );
  }

  /** The files with imported rows that the slice replaces, or may replace, as one text. */
  #displacedPaths(snapshot: Snapshot, slice: SliceCommit, main: Table): string {
    if (slice.splits === undefined) return '';
    const table = new TableSnapshot(snapshot, main.name);
    const displaced = table.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    return [...new Set([...displaced, ...undatedFiles(snapshot, slice, main)])].map(({ path }) => path).join();
  }

  async #commitOne(
    { slice, main, revision, isCurrent }: OneCommit,
    remainder: Remainder | undefined,
  ): Promise<SliceResult> {
    this.#refuseEmptying(slice, main, remainder);
    const now = this.#clock.now();
    let isStale = false;
    let mixed: Add | undefined;
    const newFile = (file: SliceFile, name: string) => ({
      table: file.table,
      add: sliceAdd({ ...slice, name }, file, now),
      read: () => Promise.resolve(file.bytes),
    });
    const committed = await this.#lake.commitFiles({
      operation: 'WRITE',
      main,
      files: [
        ...slice.files.map((file) => newFile(file, slice.name)),
        ...(revision?.files ?? []).map((file) => newFile(file, revision?.name ?? slice.name)),
        ...(remainder?.files ?? []),
      ],
      decide: (snapshot) => {
        const table = new TableSnapshot(snapshot, main.name);
        const copied = new Set(remainder?.mains.map(({ path }) => path));
        mixed = filesToSplit(snapshot, table, slice).find(({ path }) => !copied.has(path));
        const isWhole = mixed === undefined && [...copied].every((path) => table.file(path) !== undefined);
        isStale = !isCurrent(snapshot) || !isWhole || revision?.isCurrent(snapshot) === false;
        if (isStale || hasConflict(snapshot, slice)) return undefined;
        const keys = keyChange(snapshot, slice, now, {
          pieces: remainder?.pieces,
          isCompared: revision?.isCompared === true,
        });
        return { replaced: filesToReplace(snapshot, table, slice), keys };
      },
    });
    return { ...committed, isStale, mixed };
  }
}

/** Files with undated imported events that may belong to the slice. */
function undatedFiles(snapshot: Snapshot, { pipeline, account, splits }: SliceCommit, main: Table): readonly Add[] {
  if (splits === undefined) return [];
  const mayBelong = ({ first, last }: ImportSpan) => splits(importedKey({ start: first, end: last + 1 })) !== undefined;
  const files = filesOf(new TableSnapshot(snapshot, main.name), pipeline, account);
  return files.filter((add) => importSpansOf(add).some(mayBelong));
}

interface OneCommit {
  readonly slice: SliceCommit;
  readonly main: Table;
  readonly revision: RevisionToCommit | undefined;
  /** Whether the imported rows that the slice displaces are still the same. */
  readonly isCurrent: (snapshot: Snapshot) => boolean;
}

interface SliceResult extends CommitResult {
  /** Whether nothing was committed because other runs have changed files since. */
  readonly isStale: boolean;
  /** A file that the slice would replace, and whose other rows it lacks. */
  readonly mixed: Add | undefined;
}

/** Maximum number of attempts at a commit while other runs merge files. */
const mostSplits = 5;

function mixedFailure(file: string, { loadKeys }: SliceCommit): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
      'another run has merged files meanwhile, run the same command again',
  );
}
