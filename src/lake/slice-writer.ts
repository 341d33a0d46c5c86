import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import type { Snapshot } from './catalog/snapshot.js';
import { lakePathOf } from './catalog/change.js';
import { notCommitted, type CommitResult, type FileCommit } from './commit-files.js';
import type { Add } from './delta/actions.js';
import { loadKeysOf, rowsInLog } from './delta/file-tags.js';
import { TableSnapshot } from './catalog/table-snapshot.js';
import { hasConflict, keyChange } from './loads/load-keys.js';
import { emptiedKeys, reachedRows, type ReachedRows } from './loads/replaced-files.js';
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
 * Writes what stays of the files of the slice's main table that have rows which the slice replaces and others, and calls `use` with it:
 * undefined where no file has others.
 *
 * @throws DamagedFile for a file that can't be read; what `use` throws
 */
export type WithRemainder = <T>(
  slice: SliceCommit,
  use: (remainder: Remainder | undefined) => Promise<T>,
) => Promise<T>;

/** A lake that slices are committed to. */
interface WrittenLake extends ComparedLake {
  commitFiles(commit: FileCommit): Promise<CommitResult>;
}

/** Commits slices to a lake: see `Lake.commit`. */
export class SliceWriter {
  readonly #lake: WrittenLake;
  readonly #clock: Clock;
  readonly #revisions: Revisions | undefined;
  readonly #rewriting = new Mutex();

  constructor(lake: WrittenLake, clock: Clock, revisions: Revisions | undefined) {
    this.#lake = lake;
    this.#clock = clock;
    this.#revisions = revisions;
  }

  async commit(slice: SliceCommit, withRemainder?: WithRemainder): Promise<CommitResult> {
    const { main } = slice;
    for (let attempt = 1; ; attempt++) {
      const replaces = (slice.replaces ?? []).length > 0;
      const revision = replaces ? await this.#revisions?.compare(this.#lake, slice) : undefined;
      if (revision?.verdict === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision?.verdict === 'refused') return notCommitted;
      const reached = () => reachedRows(this.#lake.snapshot, main.name, slice);
      // A file may have rows that the slice replaces, and others.
      const write = [...reached().mixed, ...reached().partialFiles].length > 0 ? withRemainder : undefined;
      const commit = async (): Promise<SliceResult> => {
        const imports = importsState(this.#lake.snapshot, main, slice, reached());
        const one = { slice, main, revision, imports };
        if (write === undefined) return this.#commitOne(one, undefined);
        return write(slice, (remainder) => this.#commitOne(one, remainder));
      };
      // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
      const committing = write === undefined ? commit() : this.#rewriting.run(commit);
      const { isStale, mixed, ...committed } = await committing;
      if (committed.isCommitted) revision?.committed();
      if (!isStale) return committed;
      if (attempt < mostAttempts) continue;
      if (mixed !== undefined) throw mixedFailure(this.#lake.store.address(lakePathOf(main.name, mixed)), slice);
      return committed;
    }
  }

  /**
   * Refuses to replace imported rows by nothing, and by fewer that could not all be read: they may be the only copy, as the upstream has
   * no data older than two years.
   */
  #refuseLosing(slice: SliceCommit, main: Table, remainder: Remainder | undefined): void {
    if (slice.acceptsEmpty === true) return;
    const answered = slice.files.reduce((sum, { table, rows }) => sum + (table === main ? rows : 0), 0);
    const unread = [...(slice.holes?.values() ?? [])].flat().length;
    if (answered > 0 && unread === 0) return;
    const { snapshot } = this.#lake;
    const { covered } = reachedRows(snapshot, main.name, slice);
    const copied = new Set(remainder?.mains.map(({ path }) => path));
    const files = new TableSnapshot(snapshot, main.name).filesWith(slice.account, slice.pipeline, covered);
    const rows = rowsInLog(files.filter(({ path }) => !copied.has(path))) + (remainder?.importedRows ?? 0);
    if (rows <= answered) return;
    const got = answered === 0 ? 'none from the service' : `${answered}, beside parts of pages that can't be read`;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ${got}; ` +
        `the imported rows stay, --accept-empty ${answered === 0 ? 'removes' : 'replaces'} them`,
    );
  }

  async #commitOne(
    { slice, main, revision, imports }: OneCommit,
    remainder: Remainder | undefined,
  ): Promise<SliceResult> {
    this.#refuseLosing(slice, main, remainder);
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
        const reached = reachedRows(snapshot, main.name, slice);
        mixed = reached.mixed.find(({ path }) => !copied.has(path));
        const isWhole = mixed === undefined && [...copied].every((path) => table.file(path) !== undefined);
        const isReached = importsState(snapshot, main, slice, reached) === imports;
        isStale = !isReached || !isWhole || revision?.isCurrent(snapshot) === false;
        if (isStale || hasConflict(snapshot, slice)) return undefined;
        const rewritten = [...copied].flatMap((path) => table.file(path) ?? []);
        const replaced = [...new Set([...reached.files, ...rewritten])];
        const kept = new Set(remainder?.files.flatMap(({ add }) => loadKeysOf(add)));
        const emptied = emptiedKeys(table, slice, reached, { replaced, kept });
        const keys = keyChange(snapshot, slice, now, { emptied, isCompared: revision?.isCompared === true });
        return { replaced, keys };
      },
    });
    return { ...committed, isStale, mixed };
  }
}

/** The imported rows that a slice's window reaches, as one text: their files, and which spans are loaded with it. */
function importsState(snapshot: Snapshot, main: Table, slice: SliceCommit, { covered, partial }: ReachedRows): string {
  const table = new TableSnapshot(snapshot, main.name);
  const files = table.filesWith(slice.account, slice.pipeline, [...covered, ...partial]);
  return JSON.stringify([covered, partial, files.map(({ path }) => path)]);
}

interface OneCommit {
  readonly slice: SliceCommit;
  readonly main: Table;
  readonly revision: RevisionToCommit | undefined;
  /** The imported rows that it reaches: see `importsState`. */
  readonly imports: string;
}

interface SliceResult extends CommitResult {
  /** Whether nothing was committed because other runs have changed files since. */
  readonly isStale: boolean;
  /** A file that the slice would replace, and whose other rows it lacks. */
  readonly mixed: Add | undefined;
}

/** Maximum number of attempts at a commit while other runs merge files. */
const mostAttempts = 5;

function mixedFailure(file: string, { loadKeys }: SliceCommit): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
      'another run has merged files meanwhile, run the same command again',
  );
}
