import { DamagedFile } from '../delta/data-file.js';
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

/** Attempts of a decision that meets a missing or damaged file, while other runs commit. */
const missingFileAttempts = 20;

/** Changes of one operation that are ready together in a process, and become one commit. */
export class CommitGroup {
  readonly operation: string;
  #members: readonly Member[] = [];
  #missingFileAttempts = 0;

  constructor(operation: string) {
    this.operation = operation;
  }

  /** Adds a change; resolves when the group is committed. */
  join(decide: Decide): Promise<SealedCommit | undefined> {
    return new Promise((resolve, reject) => {
      this.#members = [...this.#members, { decide, resolve, reject, decision: 'nothing' }];
    });
  }

  /** Whether every member has its answer. */
  get isSettled(): boolean {
    return this.#members.length === 0;
  }

  /** Whether a member met a missing file, which another run may have replaced, and is to decide again where one has committed. */
  get metMissingFile(): boolean {
    return (
      this.#missingFileAttempts < missingFileAttempts && this.#members.some(({ decision }) => isMissingFile(decision))
    );
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
    if (this.metMissingFile) this.#missingFileAttempts++;
    return changes.length === 0 ? undefined : joinedChange(changes, (id) => base.key(id) !== undefined);
  }

  /**
   * Answers the members: with the commit, or undefined where nobody had a change. One that met a missing file stays where
   * there is a commit: another run may have replaced the file, and it decides again.
   */
  settle(commit: SealedCommit | undefined): void {
    const left: Member[] = [];
    for (const member of this.#members) {
      const { decision } = member;
      if (decision === 'nothing') member.resolve(undefined);
      else if ('change' in decision) member.resolve(commit);
      else if (commit !== undefined && isMissingFile(decision) && this.metMissingFile) left.push(member);
      else member.reject(decision.error);
    }
    this.#members = left;
  }

  /** Answers all members that are left with an error. */
  reject(error: unknown): void {
    for (const member of this.#members) member.reject(error);
    this.#members = [];
  }
}

function isMissingFile(decision: MemberDecision): boolean {
  return decision !== 'nothing' && 'error' in decision && decision.error instanceof DamagedFile;
}
