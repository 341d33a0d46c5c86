import { codeOf } from '../../../src/core/errors.js';
import { commitRules, type CommitRules } from '../../../src/lake/catalog/catalog.js';
import type { Store } from '../../../src/lake/store/store.js';

/** A rule that a writer of the simulation breaks. */
export type Habit =
  | 'decides on the version it began with'
  | 'goes on where it is fenced'
  | 'deletes what its newest version lacks'
  | 'deletes what it has committed where it then fails'
  | 'deletes before it publishes'
  | 'vacuums without publishing'
  | 'deletes after an unclear claim'
  | 'publishes the newest version only'
  | 'erases what is not published'
  | 'decides beside its group'
  | 'uses names again'
  | 'vacuums without a fence'
  | 'ignores the retention'
  | 'names runs without a nonce';

/** A rule of the catalog, taken out. */
export interface Mutation {
  /** The number of the rule, as the table in `mutations.ts` has them. */
  readonly rule: string;
  readonly name: string;
  readonly habits?: readonly Habit[];
  readonly rules?: Partial<CommitRules>;
  /** The store as the writer sees it. */
  readonly store?: (store: Store) => Store;
  /** The first seed that finds it, of those that begin at 1. */
  readonly seed: number;
}

const habit = (rule: string, name: Habit, seed: number): Mutation => ({ rule, name, habits: [name], seed });

const isPublication = (path: string) => path.includes('/_delta_log/');

/** An unclear claim is tried again, and then its answer is believed. */
const believing = (store: Store): Store => ({
  ...store,
  create: async (path, bytes) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.create(path, bytes);
      } catch (error) {
        if (codeOf(error) !== 'LAKE_UNCLEAR' || attempt === 4) throw error;
      }
    }
  },
});

/** A published version must be the one that this program would write, byte for byte. */
const comparing = (store: Store): Store => ({
  ...store,
  create: async (path, bytes) => {
    if (await store.create(path, bytes)) return true;
    const found = isPublication(path) ? await store.read(path) : undefined;
    if (found !== undefined && Buffer.compare(found, bytes) !== 0) throw new Error(`${path} is not what it should be`);
    return false;
  },
});

/** Nobody asks for published versions. */
const unasking = (store: Store): Store => ({
  ...store,
  readRange: (path, ...range) => (isPublication(path) ? Promise.resolve(undefined) : store.readRange(path, ...range)),
});

/** The names of erased commits become free. */
const freeing = (store: Store): Store => ({
  ...store,
  write: (path, bytes) => (/^_catalog\/\d{20}\.json$/.test(path) ? store.remove(path) : store.write(path, bytes)),
});

/**
 * Each rule that can be taken out from outside, with a seed whose run finds it. The numbers:
 *
 *  1. Decision, look at the fences and claimed version are of one snapshot.
 *  2. Unused files are those that an operation wrote, less those that its own commit added.
 *  3. What removes a file is published before the file is deleted, also where a vacuum commits nothing.
 *  4. An unclear claim is repeated with the same bytes, then the nonce says who won; still unclear, nothing is deleted.
 *  5. Publications are compared by the hash of the commit that they carry.
 *  6. Each table is published in order, and wholly before commits are erased.
 *  7. A published version that the catalog doesn't know means that its end is lost; so every commit touches a table.
 *  8. The name of a commit is never freed.
 *  9. Schemas only grow.
 * 10. Checkpoints are of a block for each account: what that is needed for are sizes, and damage (`checkpoint.test.ts`).
 * 11. Slices that are committed together are decided one on top of the other.
 * 12. `at` never goes back; runs are named by a version and a nonce.
 * 13. Copiers may skip names with `_`: nothing that a run does.
 * 14. These.
 *
 * Names of files are used once, fences go with the deletion of orphans, and replaced files stay as long as the retention: `names`,
 * `fence`, `retention`.
 */
export const mutations: readonly Mutation[] = [
  habit('1', 'decides on the version it began with', 1),
  habit('1', 'goes on where it is fenced', 26),
  habit('2', 'deletes what its newest version lacks', 21),
  habit('2', 'deletes what it has committed where it then fails', 47),
  habit('3', 'deletes before it publishes', 1),
  habit('3', 'vacuums without publishing', 82),
  habit('4', 'deletes after an unclear claim', 9),
  { rule: '4', name: 'believes the second answer to a claim', store: believing, seed: 3 },
  { rule: '5', name: 'compares publications byte for byte', store: comparing, seed: 1 },
  habit('6', 'publishes the newest version only', 1),
  habit('6', 'erases what is not published', 18),
  { rule: '7', name: 'opens without asking for published versions', store: unasking, seed: 1 },
  {
    rule: '7',
    name: 'commits without touching a table',
    rules: {
      completed: (snapshot, change) =>
        Object.keys(change.tables ?? {}).length === 0 ? change : commitRules.completed(snapshot, change),
    },
    seed: 9,
  },
  { rule: '8', name: 'frees the names of erased commits', store: freeing, seed: 3 },
  { rule: '9', name: 'takes columns back', rules: { completed: (_, change) => change }, seed: 1 },
  habit('11', 'decides beside its group', 2),
  { rule: '12', name: 'lets the instant of commits go back', rules: { at: (_, now) => now }, seed: 2 },
  habit('12', 'names runs without a nonce', 2),
  habit('names', 'uses names again', 1),
  habit('fence', 'vacuums without a fence', 40),
  habit('retention', 'ignores the retention', 2),
];
