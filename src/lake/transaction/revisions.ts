import type { Snapshot } from '../delta/snapshot.js';
import type { LakeTables } from './transaction.js';
import type { SliceCommit, SliceFile } from './slice-commit.js';

/** A lake, as far as what it holds is compared. */
export interface ComparedLake extends LakeTables {
  /** Reads what was committed since. */
  refresh(): Promise<void>;
}

/** What becomes of a slice that was read again. */
export type Revision =
  /** The lake holds all of it as it is: nothing is written. */
  | { readonly verdict: 'same' }
  /** What the lake holds stays, as nothing is to take its place. */
  | { readonly verdict: 'refused' }
  | RevisionToCommit;

/** The slice takes the place of what the lake holds, and what differs goes into lasting tables in the same commit. */
export interface RevisionToCommit {
  readonly verdict: 'changed';
  /** What differs; a file's own tags say which pipeline wrote it. */
  readonly files: readonly SliceFile[];
  /** The name of its files: no other commit of the main table has the same one. */
  readonly name: string;
  /** Whether the lake still holds what was compared, as rows; files may have been merged or split since. */
  holds(main: Snapshot): boolean;
  /** Called once the commit is taken. */
  committed(): void;
}

/** Compares what was read again with what the lake holds of the same. */
export interface Revisions {
  /** Called again where another run has committed the same load keys meanwhile. */
  compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision>;
}
