import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import type { Lake } from '../../lake/lake.js';
import type { QuerySettings } from '../configuration/settings.js';
import type { ReadingContext } from '../context.js';
import { loadedText, newestMonth, partialMonths, windowsByAccount } from './loaded-months.js';
import { questionNamed, questionQuery, questions, questionValues } from './questions.js';

/** A question with the values of its parameters, for a lake. */
export interface AskedQuestion {
  /** The query, which runs as it is. */
  readonly query: string;
  /** Notes on months that are not loaded to their end. */
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
  const newest = newestMonth([...accounts.values()].flat(), timeZone, now);
  const values = questionValues(question, parameters, { newestMonth: newest, now });
  const ranges = [...values].flatMap(([parameter, month]) =>
    month === undefined || !parameter.startsWith('month') ? [] : [{ first: month, last: month }],
  );
  const from = values.get('from');
  if (from !== undefined) ranges.push({ first: from, last: '9999-12' });
  const notes = [...accounts].flatMap(([account, windows]) =>
    ranges.flatMap((range) => {
      const partial = partialMonths(windows, timeZone, range);
      if (partial?.length === 0) return [];
      const what = partial === undefined ? `nothing of ${range.first}` : `only a part of ${partial.join(', ')}`;
      return [`WARNING: ${loadedText(account, what, windows)}`];
    }),
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
