import type { TurnEnd, JobKind } from '../../src/app/fleet/turns.js';
import type { Account } from './account.js';
import type { Backlogs } from './backlog.js';
import type { Read } from './turn.js';

/** What happens in a simulated fleet; instants are milliseconds since 1970. */
export interface Told {
  /** A turn has come to its end, or to that of its worker. */
  turnEnded?(turn: EndedTurn): void;
  /** Nothing is left of a first backfill; and of a sync. */
  backfillDone?(account: Account, at: number): void;
  syncDone?(account: Account, askedAt: number, at: number): void;
  dead?(account: Account, at: number): void;
  stalled?(account: Account, at: number): void;
  /** Once a minute. */
  state?(state: {
    readonly at: number;
    readonly waiting: number;
    readonly delayed: number;
    readonly busy: number;
  }): void;
}

export interface EndedTurn {
  readonly account: Account;
  readonly worker: number;
  readonly work: JobKind;
  readonly takenAt: number;
  readonly at: number;
  readonly end: TurnEnd | 'died';
  readonly backlogs: Backlogs;
  readonly reads: readonly Read[];
}

export interface Outcome {
  /** When syncs were asked for that aren't done at the end; of accounts that aren't refused. */
  readonly notSynced: readonly number[];
  /** Processor milliseconds that the workers used. */
  readonly cpuMs: number;
  /** Scripts that Redis ran for the queue. */
  readonly queueCalls: number;
}
