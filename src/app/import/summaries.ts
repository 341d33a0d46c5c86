import type { EventWarnings } from '../../sources/finances/model/warnings.js';
import { count } from '../../sources/finances/model/warnings.js';
import type { PipelineSummary } from '../../engine/run/pipeline-summary.js';
import { dayMs, type Window } from '../../core/windows.js';

/** What came into one pipeline's tables: an import sends no request. */
export class ImportSummary implements PipelineSummary {
  readonly pipeline: string;
  readonly requests = 0;
  readonly retries = 0;
  readonly throttled = 0;
  readonly leftOpen = [];
  /** Commits. */
  slices = 0;
  pages = 0;
  files = 0;
  bytes = 0;
  seconds = 0;
  /** Rows that came into the lake, by table. */
  readonly rows = new Map<string, number>();
  readonly warnings = new Map<string, Map<string, number>>();
  /** Events or groups that the lake held already. */
  known = 0;
  /** Events or groups of days that windows were loaded for. */
  leftOut = 0;
  /** Starts of those days. */
  readonly leftOutDays = new Set<number>();
  #first = Infinity;
  #last = -Infinity;

  constructor(pipeline: string) {
    this.pipeline = pipeline;
  }

  /** Counts what one commit brought. */
  add(
    rows: Readonly<Record<string, number>>,
    { files, bytes, known }: { readonly files: number; readonly bytes: number; readonly known: number },
  ): void {
    if (files > 0) this.slices++;
    this.files += files;
    this.bytes += bytes;
    this.known += known;
    for (const [table, more] of Object.entries(rows)) this.rows.set(table, (this.rows.get(table) ?? 0) + more);
  }

  /** Notes days of which there were rows that the lake holds now. */
  touch(days: readonly number[]): void {
    this.#first = Math.min(this.#first, ...days);
    this.#last = Math.max(this.#last, ...days);
  }

  /** From the first to the last of these days; undefined where there is none. */
  get range(): Window | undefined {
    return this.#first <= this.#last ? { start: this.#first, end: this.#last + dayMs } : undefined;
  }
}

/** What an import came to. */
export class ImportSummaries {
  skippedLines = 0;
  /** Events without a date of which it can't be told whether they are ones that the lake held. */
  undecided = 0;
  readonly #summaries = new Map<string, ImportSummary>();

  /** The summary of a pipeline, which takes in what was noticed in one more input. */
  of(pipeline: string, warnings: EventWarnings): ImportSummary {
    const summary = this.#summaries.get(pipeline) ?? new ImportSummary(pipeline);
    this.#summaries.set(pipeline, summary);
    for (const [kind, places] of Object.entries(warnings)) {
      if (places.size === 0) continue;
      const counts = summary.warnings.get(kind) ?? new Map<string, number>();
      for (const [place, times] of places) count(counts, place, times);
      summary.warnings.set(kind, counts);
    }
    return summary;
  }

  get all(): readonly ImportSummary[] {
    return [...this.#summaries.values()].filter(({ pages }) => pages > 0);
  }
}
