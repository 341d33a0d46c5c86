import { spanIn } from '../catalog/load-key.js';
import type { Snapshot } from '../catalog/snapshot.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import { noFiles, type NewFile, type WrittenFiles } from '../commit-files.js';
import { rowsOf } from '../delta/data-file.js';
import { defaultLimits, withWorkspace } from '../files/workspace.js';
import type { Lake } from '../lake.js';
import { overNewest } from '../over-newest.js';
import { remainderOf } from './remainder.js';
import type { SliceCommit } from './slice-commit.js';
import {
  appliedReplacement,
  noRemainder,
  replacementOf,
  type Remainder,
  type SliceReplacement,
} from './slice-replacement.js';

/** The outcome of comparing a slice that is read again with the stored rows. */
export type Revision =
  /** The rows are equal: nothing is written. */
  | 'same'
  /** The stored rows must stay. */
  | 'refused'
  /** The slice replaces them. */
  | {
      /** Files of append-only tables with every difference; undefined: no table keeps the differences. */
      readonly history: readonly NewFile[] | undefined;
      /** Called after the commit. */
      committed(): void;
    };

/** Compares slices that are read again with the stored rows. */
export interface Revisions {
  /** @throws DamagedFile where another run has replaced a file meanwhile */
  compare(replacement: SliceReplacement): Promise<Revision>;
}

/**
 * What came of a slice: the files that were committed, none where the stored rows are equal; `conflict` where another run has committed
 * conflicting load keys, `refused` where the stored rows must stay (`Revision`): nothing was committed.
 */
export type CommittedSlice = WrittenFiles | 'conflict' | 'refused';

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
   * @throws CommitConflict where other runs change the same rows each time; LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; UPSTREAM_EMPTY where
   * it has no rows and would replace imported ones; what `remainderOf` throws
   */
  async commit(slice: SliceCommit): Promise<CommittedSlice> {
    const choose = (snapshot: Snapshot) => [replacementOf(snapshot, slice)] as const;
    return overNewest(this.#lake, choose, ([replacement]) => {
      if (replacement.rewritten.length === 0) return this.#attempt(replacement);
      // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
      return this.#rewriting.run(() => this.#attempt(replacementOf(this.#lake.snapshot, slice)));
    });
  }

  /** Compares a slice and commits it with what it replaces. */
  async #attempt(replacement: SliceReplacement): Promise<CommittedSlice> {
    const { slice, isConflict, rewritten } = replacement;
    if (isConflict) return 'conflict';
    const revision = slice.reread === undefined ? undefined : await this.#revisions.compare(replacement);
    if (revision === 'same') return noFiles;
    if (revision === 'refused') return 'refused';
    if (rewritten.length === 0) return this.#commitWith(replacement, revision, noRemainder);
    return withWorkspace(defaultLimits, this.#lake.store, async (workspace) => {
      const remainder = await remainderOf({ lake: this.#lake, workspace }, replacement);
      return this.#commitWith(replacement, revision, remainder);
    });
  }

  async #commitWith(
    replacement: SliceReplacement,
    revision: Exclude<Revision, string> | undefined,
    remainder: Remainder,
  ): Promise<WrittenFiles> {
    refuseLosing(replacement, remainder);
    const { slice } = replacement;
    const now = this.#clock.now();
    const history = revision?.history;
    const applied = appliedReplacement(replacement, remainder, { hasHistory: history !== undefined, now });
    const committed = await this.#lake.commitFiles({
      operation: 'WRITE',
      main: slice.main,
      files: [...slice.files, ...(history ?? []), ...remainder.files],
      over: [replacement],
      replaced: () => applied,
    });
    revision?.committed();
    return committed;
  }
}

/**
 * Refuses to replace imported rows by nothing, and by fewer that could not all be read: they may be the only copy, as the upstream has
 * no data older than two years.
 */
function refuseLosing({ slice, removed }: SliceReplacement, remainder: Remainder): void {
  const { main, acceptEmpty } = slice;
  if (acceptEmpty === true) return;
  const answered = slice.files.reduce((sum, { table, rows }) => sum + (table === main ? rows : 0), 0);
  const unread = [...(slice.holes?.values() ?? [])].flat().length;
  if (answered > 0 && unread === 0) return;
  const imported = removed.filter(({ loadKeys }) => loadKeys.some((key) => spanIn('imported', key) !== undefined));
  const rows = rowsOf(imported) + remainder.importedRows;
  if (rows <= answered) return;
  const got = answered === 0 ? 'none from the service' : `${answered}, beside parts of pages that can't be read`;
  throw new LedgerlakeError(
    'UPSTREAM_EMPTY',
    `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ${got}; ` +
      `the imported rows stay, --accept-empty ${answered === 0 ? 'removes' : 'replaces'} them`,
  );
}
