import type { KeySplit } from '../../lake/loads/load-keys.js';

/** The unit of reading, retrying and committing: what it reads becomes one file per table, in one commit. */
export interface Slice {
  /** Begins the names of its files: letters, digits, `-`, `.` and `_`. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** What counts as loaded once it is committed: `window/…`, `group/…`, `order/…`. */
  readonly loadKeys: readonly string[];
  /** Units that count as loaded no longer, as these hold all that they held. */
  readonly retires?: readonly string[];
  /** It is read though the lake holds it, and takes the place of what is there. */
  readonly isReread?: boolean;
  /** That it was read is to be noted also where nothing of it has changed. */
  readonly noted?: boolean;
  /** Units of others that can't stand beside these in the lake, as they hold some of the same. */
  readonly excludes?: (unit: string) => boolean;
  /** What it takes of units that nobody has read; see `SliceUnits`. */
  readonly splits?: (unit: string) => KeySplit | undefined;
}
