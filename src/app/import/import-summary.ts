import type { ImportSummaries, ImportSummary } from './summaries.js';
import { formatCount } from '../../core/text/amounts.js';
import { warningLines, summaryGrid, summaryJson, type RunReport } from '../load/run-summary.js';
import { printable } from '../../core/printable.js';

/** The summary of an import for people: a line per pipeline, what was left out and why, and what was noticed. */
export function importText(report: RunReport, summaries: ImportSummaries): string {
  const { account, lake, failure, seconds } = report;
  const [whose, where] = [printable(account), printable(lake)];
  const isNew = summaries.all.some(({ files }) => files > 0);
  const lines = [''];
  if (failure !== undefined)
    lines.push(`Not all was imported for ${whose}; what is listed here is in ${where} and stays`);
  else if (isNew) lines.push(`Imported for ${whose} into ${where} in ${seconds.toFixed(1)} s`);
  else lines.push(`Nothing to import: ${where} holds what was given for ${whose} already`);
  if (isNew) lines.push('', ...summaryGrid(summaries.all));
  const more = [
    ...summaries.all.flatMap(keptOut),
    ...skippedLines(summaries),
    ...undecided(summaries),
    ...warningLines(summaries.all),
  ];
  if (more.length > 0) lines.push('', ...more);
  return `${lines.join('\n')}\n`;
}

function keptOut({ pipeline, known, leftOut, leftOutDays }: ImportSummary): string[] {
  const noun = pipeline === 'financial-event-groups' ? 'group' : 'event';
  const days = formatCount(leftOutDays.size, 'day');
  return [
    ...(known === 0 ? [] : [`Known: ${formatCount(known, noun)} that the lake holds already`]),
    ...(leftOut === 0 ? [] : [`Left out: ${formatCount(leftOut, noun)} of ${days} that a loaded window touches`]),
  ];
}

function skippedLines({ skippedLines: count }: ImportSummaries): string[] {
  return count === 0
    ? []
    : [
        `Left out: ${formatCount(count, 'line')} that ${count === 1 ? 'is no response body' : 'are no response bodies'}`,
      ];
}

function undecided({ undecided: count }: ImportSummaries): string[] {
  const what = count === 1 ? 'is one' : 'are ones';
  return count === 0
    ? []
    : [`Undecided: whether ${formatCount(count, 'event')} without a date ${what} that the lake held (docs/import.md)`];
}

/** The same for programs, on one line: the keys of every run's, and what an import leaves out. */
export function importJson(report: RunReport, summaries: ImportSummaries): string {
  const left = summaries.all.map(({ pipeline, known, leftOut, leftOutDays }): [string, unknown] => [
    pipeline,
    { known, left_out: leftOut, left_out_days: leftOutDays.size },
  ]);
  return summaryJson(report, {
    skipped_lines: summaries.skippedLines,
    undecided: summaries.undecided,
    imported: Object.fromEntries(left),
  });
}
