import { rowsOf } from './delta/data-file.js';
import type { Clock } from '../core/clock.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import { lakePathOf } from './catalog/change.js';
import { TableSnapshot } from './catalog/table-snapshot.js';
import { notCommitted, type CommitResult, type FileCommit } from './commit-files.js';
import { hasConflict } from './loads/load-keys.js';
import {
  sliceAdd,
  type ComparedLake,
  type RevisionToCommit,
  type Revisions,
  type SliceCommit,
  type SliceFile,
} from './slice-commit.js';
import {
  appliedReplacement,
  hasSameRows,
  isSameReplacement,
  noRemainder,
  replacementOf,
  type Remainder,
  type SliceReplacement,
} from './slice-replacement.js';

/**
 * Writes what stays of the files of the slice's main table that have rows which the slice replaces and others, and calls `use` with it.
 *
 * @returns what `use` returns; undefined where another run has replaced one of the files meanwhile
 * @throws DamagedFile for a file that can't be read; what `use` throws
 */
export type WithRemainder = <T>(
  slice: SliceCommit,
  replacement: SliceReplacement,
  use: (remainder: Remainder) => Promise<T>,
) => Promise<T | undefined>;

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
    for (let attempt = 1; ; attempt++) {
      const replaces = (slice.replaces ?? []).length > 0;
      const revision = replaces ? await this.#revisions?.compare(this.#lake, slice) : undefined;
      if (revision?.verdict === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision?.verdict === 'refused') return notCommitted;
      const committed = await this.#replace(slice, revision, withRemainder);
      if (committed?.isCommitted === true) revision?.committed();
      if (committed !== undefined) return committed;
      if (attempt < mostAttempts) continue;
      const [mixed] = this.#replacementOf(slice).mixed;
      if (mixed === undefined) return notCommitted;
      throw mixedFailure(this.#lake.store.address(lakePathOf(slice.main.name, mixed)), slice);
    }
  }

  #replacementOf(slice: SliceCommit): SliceReplacement {
    return replacementOf(this.#lake.snapshot, slice);
  }

  /** Commits a slice with what it replaces; undefined where that isn't what it was compared with, or what its remainder is of. */
  async #replace(
    slice: SliceCommit,
    revision: RevisionToCommit | undefined,
    withRemainder: WithRemainder | undefined,
  ): Promise<CommitResult | undefined> {
    const replacement = this.#replacementOf(slice);
    if (withRemainder === undefined || replacement.mixed.length + replacement.partialFiles.length === 0)
      return this.#commitOne(slice, revision, replacement, noRemainder);
    // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
    return this.#rewriting.run(() => {
      const newest = this.#replacementOf(slice);
      return withRemainder(slice, newest, (remainder) => this.#commitOne(slice, revision, newest, remainder));
    });
  }

  /**
   * Refuses to replace imported rows by nothing, and by fewer that could not all be read: they may be the only copy, as the upstream has
   * no data older than two years.
   */
  #refuseLosing(slice: SliceCommit, { snapshot, main, covered }: SliceReplacement, remainder: Remainder): void {
    if (slice.acceptsEmpty === true) return;
    const answered = slice.files.reduce((sum, { table, rows }) => sum + (table === main ? rows : 0), 0);
    const unread = [...(slice.holes?.values() ?? [])].flat().length;
    if (answered > 0 && unread === 0) return;
    const copied = new Set(remainder.mains.map(({ path }) => path));
    const files = new TableSnapshot(snapshot, main.name).filesWith(slice.account, slice.pipeline, covered);
    const rows = rowsOf(files.filter(({ path }) => !copied.has(path))) + remainder.importedRows;
    if (rows <= answered) return;
    const got = answered === 0 ? 'none from the service' : `${answered}, beside parts of pages that can't be read`;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ${got}; ` +
        `the imported rows stay, --accept-empty ${answered === 0 ? 'removes' : 'replaces'} them`,
    );
  }

  async #commitOne(
    slice: SliceCommit,
    revision: RevisionToCommit | undefined,
    replacement: SliceReplacement,
    remainder: Remainder,
  ): Promise<CommitResult | undefined> {
    this.#refuseLosing(slice, replacement, remainder);
    const copied = new Set(remainder.mains.map(({ path }) => path));
    if (replacement.mixed.some(({ path }) => !copied.has(path))) return undefined;
    if (revision !== undefined && !hasSameRows(replacement, revision.replacement)) return undefined;
    const now = this.#clock.now();
    const applied = appliedReplacement(replacement, slice, {
      ...{ remainder, isCompared: revision?.isCompared === true, now },
    });
    const newFile = (file: SliceFile, name: string) => ({
      table: file.table,
      add: sliceAdd({ ...slice, name }, file, now),
      read: () => Promise.resolve(file.bytes),
    });
    const committed = await this.#lake.commitFiles({
      operation: 'WRITE',
      main: slice.main,
      files: [
        ...slice.files.map((file) => newFile(file, slice.name)),
        ...(revision?.files ?? []).map((file) => newFile(file, revision?.name ?? slice.name)),
        ...remainder.files,
      ],
      decide: (snapshot) => {
        if (hasConflict(snapshot, slice)) return undefined;
        return isSameReplacement(replacementOf(snapshot, slice), replacement) ? applied : undefined;
      },
    });
    return committed.isCommitted || hasConflict(this.#lake.snapshot, slice) ? committed : undefined;
  }
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
