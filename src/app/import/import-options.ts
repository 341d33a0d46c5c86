import type { Emit } from '../../core/events/run-event.js';
import { defaultLimits, type Limits } from '../../lake/files/workspace.js';
import type { ImportTarget } from './imported-day-files.js';

export interface ImportOptions extends ImportTarget {
  readonly signal: AbortSignal;
  /** Leaves out lines that are no bodies of the service, in the place of the whole input. */
  readonly skipBroken: boolean;
  readonly limits: ImportLimits;
  readonly emit: Emit;
}

/** What an import may hold in memory. */
export interface ImportLimits extends Limits {
  /** Bytes of pages that are flattened at once. */
  readonly chunkBytes: number;
  /** Bytes of ids of the events that the lake holds, 16 each: what is more is in a file. */
  readonly idBytes: number;
}

/** A part is about 6,000 events with ten amounts each; what is made of it takes several times its bytes for a moment. */
export const importLimits: ImportLimits = {
  ...defaultLimits,
  memory: '256MB',
  chunkBytes: 8_000_000,
  idBytes: 8_000_000,
};
