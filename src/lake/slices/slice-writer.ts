import { spanIn } from '../catalog/load-key.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import { notCommitted, type CommitResult } from '../commit-files.js';
import type { Add } from '../delta/actions.js';
import { addOf, contentOf, rowsOf } from '../delta/data-file.js';
import { hasConflict } from '../loads/load-keys.js';
import type { Lake } from '../lake.js';
import { overNewest } from '../over-newest.js';
import type { SliceCommit, SliceFile } from './slice-commit.js';
import {
  appliedReplacement,
  isSameReplacement,
  mixedFile,
  noRemainder,
  replacementOf,
  type Remainder,
  type SliceReplacement,
} from './slice-replacement.js';

/** What is committed with a slice that replaces the stored rows. */
export interface Revision {
  /** Files of append-only tables with the differences, which name their pipeline. */
  readonly files: readonly SliceFile[];
  /** Whether these files have every difference, so that one can tell what the lake had before. */
  readonly isCompared: boolean;
  /** Called after the commit. */
  committed(): void;
}

/** What the writer of slices leaves to a reader of their rows. */
export interface Revisions {
  /**
   * Compares a slice that is read again with the stored rows.
   *
   * @returns `same` where they are equal, and nothing is written; `refused` where they must stay
   * @throws DamagedFile where another run has replaced a file meanwhile
   */
  compare(slice: SliceCommit, replacement: SliceReplacement): Promise<Revision | 'same' | 'refused'>;
  /**
   * Rewrites the files of the slice's main table of which it replaces only a part, without the replaced rows, and commits the slice
   * with the new files.
   *
   * @returns what `commit` returns
   * @throws DamagedFile for a file that can't be read, maybe because another run has replaced it; what `commit` throws
   */
  withRemainder(
    slice: SliceCommit,
    replacement: SliceReplacement,
    commit: (remainder: Remainder) => Promise<CommitResult | undefined>,
  ): Promise<CommitResult | undefined>;
}

/** Commits slices to a lake, each as a whole: readers see either all of its files or none. */
export class SliceWriter {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #revisions: Revisions;
  readonly #rewriting = new Mutex();

  constructor(lake: Lake, clock: Clock, revisions: Revisions) {
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
    const choose = () => replacementOf(this.#lake.snapshot, slice);
    const committed = await overNewest(this.#lake, { choose, isSame: isSameReplacement }, (replacement) => {
      if (replacement.shared.length === 0) return this.#attempt(slice, replacement);
      // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
      return this.#rewriting.run(() => this.#attempt(slice, choose()));
    });
    if (committed !== undefined) return committed;
    const mixed = mixedFile(choose());
    if (mixed === undefined) return notCommitted;
    throw sharedFailure(this.#lake.store.address(mixed.lakePath), slice);
  }

  /** Compares a slice and commits it with what it replaces; undefined where another run has replaced some of that meanwhile. */
  async #attempt(slice: SliceCommit, replacement: SliceReplacement): Promise<CommitResult | undefined> {
    const revision = slice.reread === undefined ? undefined : await this.#revisions.compare(slice, replacement);
    if (revision === 'same') return { isCommitted: true, files: 0, bytes: 0 };
    if (revision === 'refused') return { ...notCommitted, isRefused: true };
    const commit = (remainder: Remainder) => this.#commitOne(slice, revision, replacement, remainder);
    if (replacement.shared.length === 0) return commit(noRemainder);
    return this.#revisions.withRemainder(slice, replacement, commit);
  }

  /**
   * Refuses to replace imported rows by nothing, and by fewer that could not all be read: they may be the only copy, as the upstream has
   * no data older than two years.
   */
  #refuseLosing(slice: SliceCommit, { snapshot, whole }: SliceReplacement, remainder: Remainder): void {
    const { main, acceptEmpty } = slice;
    if (acceptEmpty === true) return;
    const answered = slice.files.reduce((sum, { table, rows }) => sum + (table === main ? rows : 0), 0);
    const unread = [...(slice.holes?.values() ?? [])].flat().length;
    if (answered > 0 && unread === 0) return;
    const copied = new Set(remainder.mains.map(({ path }) => path));
    const imported = whole.filter((key) => spanIn('imported', key));
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
    const now = this.#clock.now();
    const applied = appliedReplacement(replacement, slice, remainder, {
      isCompared: revision?.isCompared === true,
      now,
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
    if (committed.isCommitted) revision?.committed();
    return committed.isCommitted || hasConflict(this.#lake.snapshot, slice) ? committed : undefined;
  }
}

/** The log entry of a slice's file, without the end of its name (`NewFile.add`). `now`: milliseconds since 1970. */
function sliceAdd(slice: SliceCommit, file: SliceFile, now: number): Add {
  const { account, loadKeys } = slice;
  const { table, month, rows, stats, net, groups, pipeline = slice.pipeline } = file;
  // Several main tables add to an append-only one.
  const name = table.appendOnly === true ? `${slice.main.name}-${slice.name}` : slice.name;
  return addOf(
    {
      path: `account=${account}/month=${month}/${name}`,
      account,
      month,
      rows,
      stats,
      net,
      groups,
      loadKeys,
      dataChange: true,
      content: contentOf(file.bytes),
      shared: { pipeline, account },
    },
    now,
  );
}

function sharedFailure(file: string, { loadKeys }: SliceCommit): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
      'another run has merged files meanwhile, run the same command again',
  );
}
