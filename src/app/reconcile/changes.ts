/** One thing that changed, for people. */
export interface ChangeExample {
  readonly change: 'appeared' | 'vanished' | 'differs';
  /** `event_id`, or `group_id`. */
  readonly id: string;
  readonly eventList: string | null;
  readonly amazonOrderId: string | null;
  /** ISO 8601; of a group its start. */
  readonly postedAt: string | null;
}

/** What had changed in something that was read before, and is committed now. */
export interface Change {
  readonly pipeline: string;
  /** The units that were read before: `window/START/END`, `group/ID`, `order/ID`. */
  readonly units: readonly string[];
  /** Rows that were not there when it was read last. */
  readonly appeared: number;
  /** Rows that were there. */
  readonly vanished: number;
  /**
   * Of events: how many pairs of one that vanished and one that appeared have order and list in common, so that one seems
   * to have taken the other's place; both are counted above as well. Of groups: those that say something else now.
   */
  readonly differ: number;
  readonly examples: readonly ChangeExample[];
}

/**
 * Units that held rows and came back without any, or a listing that lacks settlements, which don't vanish: what the lake holds
 * of them stays, unless that was asked for.
 */
export interface Emptied {
  readonly pipeline: string;
  readonly units: readonly string[];
  /** Rows that the lake holds, or held where it was taken as it came. */
  readonly rows: number;
  /** How many of them the answer lacks. */
  readonly lacking: number;
  readonly accepted: boolean;
  /** The file that tells of them is damaged and holds rows of other units too: it may be fewer. */
  readonly atMost?: true;
}

/** Units that could not be compared, as the lake's own file of them is damaged: they were replaced all the same. */
export interface Uncompared {
  readonly pipeline: string;
  readonly units: readonly string[];
  readonly reason: string;
}

/** What the refreshes of a run came upon. */
export interface Findings {
  readonly changes: readonly Change[];
  readonly emptied: readonly Emptied[];
  readonly uncompared: readonly Uncompared[];
}

/** Examples that are kept of each change. */
export const mostExamples = 3;
