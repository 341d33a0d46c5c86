import { rowsOf } from './delta/data-file.js';
import type { Clock } from '../core/clock.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import { lakePathOf } from './catalog/change.js';
import { notCommitted, type CommitResult } from './commit-files.js';
import { parseImportedKey } from './loads/imported-spans.js';
import { hasConflict } from './loads/load-keys.js';
import type { Lake } from './lake.js';
import { sliceAdd, type Revision, type Revisions, type SliceCommit, type SliceFile } from './slice-commit.js';
import {
  appliedReplacement,
  hasSameRows,
  isSameReplacement,
  noRemainder,
  replacementOf,
  uncopiedFile,
  type Remainder,
  type SliceReplacement,
} from './slice-replacement.js';

/** Commits slices to a lake, each as a whole: readers see either all of its files or none. */
export class SliceWriter {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #revisions: Partial<Revisions>;
  readonly #rewriting = new Mutex();

  /**
   * @param revisions without `compare` rows that are read again are replaced, and no history is kept; without `withRemainder` slices fail
   * that replace a part of a file
   */
  constructor(lake: Lake, clock: Clock, revisions: Partial<Revisions> = {}) {
    this.#lake = lake;
    this.#clock = clock;
    this.#revisions = revisions;
  }

  /**
   * Writes and commits a slice's files, with the differences from the stored rows and what stays of files that have other rows, too. Of
   * two writers that compared the same rows the first wins, and the other compares again.
   *
   * @returns what changed; nothing where another run has committed conflicting load keys, or the comparison refused the slice
   * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; UPSTREAM_EMPTY where it has no rows and would replace imported ones;
   * LAKE_CONFLICT where a file that it replaces has other load keys whose rows can't be told apart; DamagedFile where such a file can't be read
   */
  async commit(slice: SliceCommit): Promise<CommitResult> {
    for (let attempt = 1; ; attempt++) {
      const isCompared = slice.isReread === true || (slice.takesOver ?? []).length > 0;
      const revision = isCompared ? await this.#revisions.compare?.(slice) : undefined;
      if (revision === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision === 'refused') return notCommitted;
      const committed = await this.#replace(slice, revision);
      if (committed?.isCommitted === true) revision?.committed();
      if (committed !== undefined) return committed;
      if (attempt < mostAttempts) continue;
      const shared = uncopiedFile(this.#replacementOf(slice), noRemainder);
      if (shared === undefined) return notCommitted;
      throw sharedFailure(this.#lake.store.address(lakePathOf(slice.main.name, shared)), slice);
    }
  }

  #replacementOf(slice: SliceCommit): SliceReplacement {
    return replacementOf(this.#lake.snapshot, slice);
  }

  /** Commits a slice with what it replaces; undefined where that isn't what it was compared with, or what its remainder is of. */
  async #replace(slice: SliceCommit, revision: Revision | undefined): Promise<CommitResult | undefined> {
    const replacement = this.#replacementOf(slice);
    if (this.#revisions.withRemainder === undefined || replacement.shared.length === 0)
      return this.#commitOne(slice, revision, replacement, noRemainder);
    // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
    return this.#rewriting.run(async () => {
      const newest = this.#replacementOf(slice);
      const commit = (remainder: Remainder) => this.#commitOne(slice, revision, newest, remainder);
      return this.#revisions.withRemainder?.(slice, newest, commit);
    });
  }

  /**
   * Refuses to replace imported rows by nothing, and by fewer that could not all be read: they may be the only copy, as the upstream has
   * no data older than two years.
   */
  #refuseLosing(slice: SliceCommit, { snapshot, main, whole }: SliceReplacement, remainder: Remainder): void {
    if (slice.acceptEmpty === true) return;
    const answered = slice.files.reduce((sum, { table, rows }) => sum + (table === main ? rows : 0), 0);
    const unread = [...(slice.holes?.values() ?? [])].flat().length;
    if (answered > 0 && unread === 0) return;
    const copied = new Set(remainder.mains.map(({ path }) => path));
    const imported = whole.filter(parseImportedKey);
    const files = snapshot.filesWith(main.name, slice.account, slice.pipeline, imported);
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
    revision: Revision | undefined,
    replacement: SliceReplacement,
    remainder: Remainder,
  ): Promise<CommitResult | undefined> {
    this.#refuseLosing(slice, replacement, remainder);
    if (uncopiedFile(replacement, remainder) !== undefined) return undefined;
    if (revision !== undefined && !hasSameRows(replacement, revision.replacement)) return undefined;
    const now = this.#clock.now();
    const applied = appliedReplacement(replacement, slice, {
      ...{ remainder, isCompared: revision?.isCompared === true, now },
    });
    const newFile = (file: SliceFile) => ({
      table: file.table,
      add: sliceAdd(slice, file, now),
      read: () => Promise.resolve(file.bytes),
    });
    const committed = await this.#lake.commitFiles({
      operation: 'WRITE',
      main: slice.main,
      files: [...[...slice.files, ...(revision?.files ?? [])].map(newFile), ...remainder.files],
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

function sharedFailure(file: string, { loadKeys }: SliceCommit): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
      'another run has merged files meanwhile, run the same command again',
  );
}
