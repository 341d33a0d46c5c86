/** What `compact` or `rebuild` has done to one pipeline's tables. */
export interface Work {
  readonly pipeline: string;
  /** Merges made, or files of the main table made again. */
  slices: number;
  /** Rows gone through, by table. */
  readonly rows: Map<string, number>;
  /** Files written, and their bytes. */
  files: number;
  bytes: number;
  /** Files that they take the place of, and their bytes. */
  replacedFiles: number;
  replacedBytes: number;
  seconds: number;
}

export function newWork(pipeline: string): Work {
  return { pipeline, slices: 0, rows: new Map(), files: 0, bytes: 0, replacedFiles: 0, replacedBytes: 0, seconds: 0 };
}
