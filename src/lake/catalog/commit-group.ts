import { joinedChange, type Change } from './change.js';
import type { SealedCommit } from './commit.js';
import type { Snapshot } from './snapshot.js';

/** Decides what is committed on top of a snapshot; undefined: there is nothing to do. */
export type Decide = (snapshot: Snapshot) => Change | undefined | Promise<Change | undefined>;

/** What a member has decided in one attempt at a version. */
type MemberDecision = { readonly change: Change } | { readonly error: unknown } | 'nothing';

interface Member {
  readonly decide: Decide;
  readonly resolve: (commit: SealedCommit | undefined) => void;
  readonly reject: (error: unknown) => void;
  decision: MemberDecision;
}

/** Changes of one operation that are ready together in a process, and become one commit. */
export class CommitGroup {
  readonly operation: string;
  #members: readonly Member[] = [];

  constructor(operation: string) {
    this.operation = operation;
  }

  /** Adds a change; resolves when the group is committed. */
  join(decide: Decide): Promise<SealedCommit | undefined> {
    return new Promise((resolve, reject) => {
      this.#members = [...this.#members, { decide, resolve, reject, decision: 'nothing' }];
    });
  }

  /** Lets each member decide on the snapshot with the changes before it; undefined where nobody has one. */
  async decide(base: Snapshot, complete: (snapshot: Snapshot, change: Change) => Change): Promise<Change | undefined> {
    let staged = base;
    const changes: Change[] = [];
    for (const member of this.#members) {
      try {
        const wanted = await member.decide(staged);
        const change = wanted && complete(staged, wanted);
        member.decision = change === undefined ? 'nothing' : { change };
        if (change === undefined) continue;
        staged = staged.stage(change);
        changes.push(change);
      } catch (error) {
        member.decision = { error };
      }
    }
    return changes.length === 0 ? undefined : joinedChange(changes, (id) => base.key(id) !== undefined);
  }

  /** Answers each member: with the commit, with undefined where it had no change, or with its error. */
  settle(commit: SealedCommit | undefined): void {
    for (const { decision, resolve, reject } of this.#members) {
      if (decision === 'nothing') resolve(undefined);
      else if ('change' in decision) resolve(commit);
      else reject(decision.error);
    }
  }

  /** Answers all members with an error. */
  reject(error: unknown): void {
    for (const member of this.#members) member.reject(error);
  }
}
