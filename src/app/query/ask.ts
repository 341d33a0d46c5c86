import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import { spanOf, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import type { QuerySettings } from '../configuration/settings.js';
import type { ReadingContext } from '../context.js';
import { lackText, monthsOf, newestMonth, windowsByAccount, type MonthRange } from './loaded-months.js';
import { questionNamed, questionQuery, questions, questionValues } from './questions.js';

/** A question with the values of its parameters, for a lake. */
export interface AskedQuestion {
  /** The query, which runs as it is. */
  readonly query: string;
  /** Notes on months that are loaded in part only, or not at all. */
  readonly notes: readonly string[];
}

export interface QuestionCall extends Pick<QuerySettings, 'timeZone'> {
  /** The name of the question. */
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * A question about a lake.
 *
 * @throws LedgerlakeError USAGE for an unknown question or parameter, and for a value of another type
 */
export function askedQuestion(lake: Lake, { name, parameters, timeZone = 'UTC', now }: QuestionCall): AskedQuestion {
  const question = questionNamed(name);
  const accounts = windowsByAccount(lake);
  const all = [...accounts.values()].flat();
  const newest = newestMonth(all, timeZone, now);
  const values = questionValues(question, parameters, { newestMonth: newest, now });
  const months = [...values].flatMap(([parameter, month]) =>
    month === undefined || !parameter.startsWith('month') ? [] : [{ first: month, last: month }],
  );
  const from = values.get('from');
  const rangesOf = (windows: readonly Window[]): readonly MonthRange[] => {
    if (from === undefined) return months;
    const { first } = monthsOf(spanOf(windows), timeZone);
    const { last } = monthsOf(spanOf(all), timeZone);
    // Months before an account's first one are missing only where they are asked for.
    const isCut = parameters['from'] === undefined && from < first;
    return [{ first: isCut ? first : from, last: from > last ? from : last }];
  };
  const notes = [...accounts].flatMap(([account, windows]) =>
    rangesOf(windows)
      .flatMap((range) => lackText(account, windows, timeZone, range) ?? [])
      .map((text) => `WARNING: ${text}`),
  );
  return { query: questionQuery(question, values), notes };
}

/** Writes the list of the questions. */
export async function listQuestions(format: Format, { output }: Pick<ReadingContext, 'output'>): Promise<void> {
  const columns = ['question', 'answers', 'parameters'].map((name) => ({ name, kind: 'text' as const }));
  const rows = questions.map(({ name, title, parameters }) => [
    name,
    title,
    parameters.map((parameter) => parameter.name).join(', '),
  ]);
  await writeRows(output, format, columns, chunksOf(rows));
}
