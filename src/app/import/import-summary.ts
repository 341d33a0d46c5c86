import { roles } from '../../../pipelines/all-pipelines.js';
import { formatCount } from '../../core/text/amounts.js';
import { runText, warningLines, summaryGrid, summaryObject, type RunReport } from '../load/run-summary.js';
import { printable } from '../../core/printable.js';
import { count } from '../../core/count.js';
import type { Warnings } from '../../engine/run/pipeline.js';
import { PipelineCounts } from '../../engine/run/pipeline-counts.js';
import { dayMs, type Window } from '../../core/windows.js';

/** The result of adding events or groups. */
export interface AddedRows {
  /** New rows, by table; of groups also those in a later state than the stored ones. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** Events or groups that the lake had before, as often as the input has them. */
  readonly known: number;
  /** Events of loaded windows that lack them, and groups of days with one, by the start of the day. */
  readonly leftOut: ReadonlyMap<number, number>;
}

const { events } = roles;
/** What is imported: pages of events, of settlements, and settlement reports. */
export const importedPipelines = [events, roles.settlements, roles.reports] as const;

/** The noun for a result of an imported pipeline, where it isn't an event. */
const nouns: Readonly<Record<string, string>> = {
  [roles.settlements.name]: 'group',
  [roles.reports.name]: 'settlement',
};

/** The summary of an import for people: a line per pipeline, what was left out and why, and the warnings. */
export function importText(report: RunReport, summaries: ImportSummaries): string {
  const { lake, failure, seconds } = report;
  const [printedRun, printedLake] = [runText(report), printable(lake)];
  const isNew = summaries.all.some(({ files }) => files > 0);
  const lines = [''];
  if (failure !== undefined)
    lines.push(
      isNew
        ? `Not all was imported for ${printedRun}; what is listed here is in ${printedLake} and stays`
        : `Nothing was imported into ${printedLake} for ${printedRun}`,
    );
  else if (isNew) lines.push(`Imported into ${printedLake} in ${seconds.toFixed(1)} s for ${printedRun}`);
  else lines.push(`Nothing to import: ${printedLake} already has everything for ${printedRun}`);
  if (isNew) lines.push('', ...summaryGrid(summaries.all));
  const { skippedLines, undecided, refused, restated } = summaries;
  const more = summaries.all.flatMap(notImported);
  if (skippedLines > 0) {
    const what = skippedLines === 1 ? 'is not a response body' : 'are not response bodies';
    more.push(`Left out: ${formatCount(skippedLines, 'line')} that ${what}`);
  }
  if (undecided > 0) {
    const what = undecided === 1 ? 'is one' : 'are ones';
    const found = formatCount(undecided, 'event');
    more.push(`Undecided: whether ${found} without a date ${what} that the lake held (docs/import.md)`);
  }
  if (refused.length > 0) more.push(`Left out: ${formatCount(refused.length, 'settlement')} that can't be read`);
  if (restated !== '') more.push(restated.trimEnd());
  more.push(...warningLines(summaries.all));
  if (more.length > 0) lines.push('', ...more);
  return `${lines.join('\n')}\n`;
}

/** Lines about rows that were not imported. */
function notImported({ pipeline, known, leftOut, leftOutDays, dateless }: ImportSummary): string[] {
  const noun = nouns[pipeline] ?? 'event';
  const days = formatCount(leftOutDays.size, 'day');
  return [
    ...(known === 0 ? [] : [`Known: ${formatCount(known, noun)} already in the lake`]),
    ...(leftOut === 0 ? [] : [`Left out: ${formatCount(leftOut, noun)} of ${days} that a loaded window touches`]),
    ...(dateless === 0 ? [] : [`Left out: ${formatCount(dateless, noun)} of files without any date`]),
  ];
}

/** The summary for programs: the keys of every run, and what an import leaves out. */
export function importObject(report: RunReport, summaries: ImportSummaries): object {
  const { all, skippedLines, undecided, refused } = summaries;
  const left = all.map(({ pipeline, known, leftOut, leftOutDays, dateless }) => {
    const unread = pipeline === roles.reports.name ? refused.length : 0;
    return [pipeline, { known, left_out: leftOut + dateless + unread, left_out_days: leftOutDays.size }] as const;
  });
  return {
    ...summaryObject(report),
    skipped_lines: skippedLines,
    undecided,
    imported: Object.fromEntries(left),
  };
}

/** The summary of one pipeline of an import, which sends no requests; its slices are commits. */
export class ImportSummary extends PipelineCounts {
  /** Events or groups that the lake had before. */
  known = 0;
  /** Events that a loaded window lacks, and groups of days with one. */
  leftOut = 0;
  /** Starts of those days. */
  readonly leftOutDays = new Set<number>();
  /** Events of files in which none has a date. */
  dateless = 0;
  #first = Infinity;
  #last = -Infinity;

  /** Counts the rows and files of one commit. */
  add({ rows, files, bytes, known }: AddedRows): void {
    if (files > 0) this.slices++;
    this.files += files;
    this.bytes += bytes;
    this.known += known;
    for (const [table, more] of Object.entries(rows)) count(this.rows, table, more);
  }

  /** Counts rows of a day with a loaded window. */
  leaveOut(day: number, rows: number): void {
    this.leftOutDays.add(day);
    this.leftOut += rows;
  }

  /** Extends `range` to days with rows that the lake has now. */
  extendRange(days: readonly number[]): void {
    this.#first = Math.min(this.#first, ...days);
    this.#last = Math.max(this.#last, ...days);
  }

  /** From the first to the last of these days; undefined where there is none. */
  get range(): Window | undefined {
    return this.#first <= this.#last ? { start: this.#first, end: this.#last + dayMs } : undefined;
  }
}

/** The summaries of an import's pipelines. */
export class ImportSummaries {
  skippedLines = 0;
  /** Why settlements of reports were left out, with file and line. */
  readonly refused: string[] = [];
  /** Differences of settlements that were restated, for people. */
  restated = '';
  /** Events without a date of which it is unknown whether the lake had them. */
  undecided = 0;
  readonly #summaries = new Map<string, ImportSummary>();

  /** The summary of a pipeline, with the warnings of one more input added. */
  of(pipeline: string, warnings: Warnings): ImportSummary {
    const summary = this.#summaries.get(pipeline) ?? new ImportSummary(pipeline);
    this.#summaries.set(pipeline, summary);
    for (const [kind, locations] of Object.entries(warnings)) {
      if (locations.size === 0) continue;
      const counts = summary.warnings.get(kind) ?? new Map<string, number>();
      for (const [location, times] of locations) count(counts, location, times);
      summary.warnings.set(kind, counts);
    }
    return summary;
  }

  get all(): readonly ImportSummary[] {
    return [...this.#summaries.values()].filter(({ pages, dateless }) => pages + dateless > 0);
  }
}
