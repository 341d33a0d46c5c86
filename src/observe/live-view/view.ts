/** What a live view shows, at one instant. */
export interface View {
  readonly command: string;
  /** Whose, and of which lake. */
  readonly subject: readonly string[];
  readonly elapsedMs: number;
  readonly rows: readonly ViewRow[];
}

/** One pipeline, or the input of an import. */
export interface ViewRow {
  readonly name: string;
  readonly state: 'waits' | 'runs' | 'done';
  /** Done, of 1; undefined while nobody knows. */
  readonly share: number | undefined;
  /** `1,234 of ~2,700 pages` */
  readonly amount: string;
  /** Undefined while nobody knows. */
  readonly leftMs: number | undefined;
  /** What else there is to say, the more important first. */
  readonly details: readonly string[];
  /** `throttled` with how often. */
  readonly retries: readonly (readonly [cause: string, times: number])[];
}
