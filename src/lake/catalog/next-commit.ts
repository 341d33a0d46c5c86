import type { Change, TableChange } from './change.js';
import { canonicalCommit, sealCommit, supported, type SealedCommit } from './commit.js';
import { grownSchema } from './grown-schema.js';
import type { Snapshot } from './snapshot.js';

/** Who commits, and when. */
export interface CommitAttempt {
  readonly operation: string;
  readonly run: string;
  /** Unique to this attempt. */
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What every commit follows, whatever it changes; an argument, so that tests can show what each rule is needed for. */
export interface CommitRules {
  /** The change as it is committed on top of a snapshot. */
  readonly completed: (snapshot: Snapshot, change: Change) => Change;
  /** When the next commit is, by the clock. */
  readonly at: (snapshot: Snapshot, now: number) => number;
}

export const commitRules: CommitRules = {
  /**
   * - Schemas only grow: columns that the snapshot has and this program doesn't know stay.
   * - A commit touches a table, so that it is published, and its loss is detected (see `Catalog.open`).
   */
  completed: (snapshot, change) => {
    const { tables = {} } = change;
    const grown = Object.entries(tables).map(([name, table]) => [name, grownTable(snapshot, name, table)] as const);
    const [first] = grown.length === 0 ? snapshot.tables.keys() : [];
    return { ...change, tables: Object.fromEntries(first === undefined ? grown : [[first, {}]]) };
  },
  /** A clock may go back, `at` doesn't: readers find the version of an instant by it. */
  at: (snapshot, now) => Math.max(snapshot.state.at, now),
};

function grownTable(snapshot: Snapshot, name: string, table: TableChange): TableChange {
  const { metaData, description, ...files } = table;
  return {
    ...grownSchema(snapshot.tables.get(name), { ...(metaData && { metaData }), ...(description && { description }) }),
    ...files,
  };
}

/** The commit of the version behind a snapshot. */
export function nextCommit(
  snapshot: Snapshot,
  attempt: CommitAttempt,
  change: Change,
  rules: CommitRules,
): SealedCommit {
  const { operation, run, nonce, now } = attempt;
  const { version, hash, minReaderVersion, minWriterVersion } = snapshot.state;
  const header = {
    version: version + 1,
    previous: hash,
    ...{ run, nonce, operation },
    at: rules.at(snapshot, now),
    // Once raised they stay.
    minReaderVersion: Math.max(minReaderVersion, supported.minReaderVersion),
    minWriterVersion: Math.max(minWriterVersion, supported.minWriterVersion),
  };
  return sealCommit(canonicalCommit(header, change));
}
