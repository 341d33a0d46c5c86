/** A sync that is done in several runs, each of which goes on where the one before it left off. */
export interface SyncInTurns {
  /** When the first of them began, milliseconds since 1970: all of them load up to the same instant. */
  readonly began: number;
  /** Whether one of them has read a slice, by its label. */
  wasRead(pipeline: string, slice: string): boolean;
  /** Takes what a run has read, and the lake holds. */
  read(pipeline: string, slices: readonly string[]): Promise<void>;
}
