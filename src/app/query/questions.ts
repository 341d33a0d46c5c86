import { literal } from '../../core/duckdb/literals.js';
import { textsByName } from '../../core/duckdb/sql-statements.js';
import { usageError } from '../../core/errors.js';
import { isoDate, readInstant } from '../../core/numeric/instant.js';
import { nearestName } from '../../core/text/fault-line.js';
import { dayMs } from '../../core/windows.js';
import { monthBefore } from './loaded-months.js';
import { questionNames, type QuestionName } from './question-names.js';

const texts = textsByName(import.meta.glob<string>('./questions/*.sql', { eager: true, import: 'default' }));

const types = ['month', 'date', 'count', 'text'] as const;

interface QuestionParameter {
  readonly name: string;
  readonly type: (typeof types)[number];
  /** As the file has it: `newest - 2`, `30 days ago`, `tomorrow`, a number; undefined: null. */
  readonly standard: string | undefined;
  readonly about: string;
}

/** A question about a lake, with the query that answers it. */
export interface Question {
  readonly name: QuestionName;
  readonly title: string;
  /** What rows and columns the answer has. */
  readonly about: string;
  readonly parameters: readonly QuestionParameter[];
  /** The query, with the parameters as `$name`. */
  readonly query: string;
}

/**
 * A file of a question: a comment with its title, its rows and columns, and a line `$NAME: TYPE = DEFAULT, what it is` for each
 * parameter; then the query, in which `$month_12` is the month 12 months before `$month`.
 */
function questionOf(name: QuestionName): Question {
  const text = texts.get(name) ?? '';
  const [comment = ''] = /^(?:--.*\n)*/.exec(text) ?? [];
  const [title = '', ...lines] = comment.split('\n').map((line) => line.slice(3));
  const parameters = lines.flatMap((line) => {
    const [, parameter, type, standard, about = ''] = /^\$(\w+): (\w+)(?: = ([^,]+))?, (.*)$/.exec(line) ?? [];
    const known = types.find((candidate) => candidate === type);
    return parameter === undefined || known === undefined ? [] : [{ name: parameter, type: known, standard, about }];
  });
  const about = lines
    .filter((line) => !line.startsWith('$'))
    .join(' ')
    .trim();
  return { name, title, about, parameters, query: text.slice(comment.length) };
}

/** The questions, in the order of their list. */
export const questions: readonly Question[] = questionNames.map(questionOf);

/** @throws LedgerlakeError USAGE for a name of no question */
export function questionNamed(name: string): Question {
  const found = questions.find((question) => question.name === name);
  if (found !== undefined) return found;
  const nearest = nearestName(name, questionNames);
  const hint = nearest === undefined ? '`ledgerlake ask` lists them' : `did you mean ${nearest}?`;
  throw usageError(`expected the name of a question, got ${JSON.stringify(name)}; ${hint}`);
}

/** What the defaults of parameters depend on. */
export interface QuestionTime {
  /** YYYY-MM. */
  readonly newestMonth: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * The values of a question's parameters as texts, and of the months before `$month` that its query names; undefined: null.
 *
 * @param given those of the user by their names
 * @throws LedgerlakeError USAGE for another name, and for a value of another type
 */
export function questionValues(
  { name, parameters, query }: Question,
  given: Readonly<Record<string, string>>,
  time: QuestionTime,
): ReadonlyMap<string, string | undefined> {
  const other = Object.keys(given).find((key) => !parameters.some((parameter) => parameter.name === key));
  if (other !== undefined) {
    const known = parameters.map((parameter) => parameter.name).join(', ') || 'none';
    throw usageError(`expected a parameter of ${name} (${known}), got ${JSON.stringify(other)}`);
  }
  const values = new Map(
    parameters.map((parameter) => {
      const text = given[parameter.name] ?? parameter.standard;
      return [parameter.name, text === undefined ? undefined : valueOf(parameter, text, time)];
    }),
  );
  const month = values.get('month');
  if (month === undefined) return values;
  for (const [, count = ''] of query.matchAll(/\$month_(\d+)/g)) {
    values.set(`month_${count}`, monthBefore(month, Number(count)));
  }
  return values;
}

/** A value as the files write defaults, which users may give too: `newest - 2`, `30 days ago`, `tomorrow`; otherwise itself. */
function valueOf(parameter: QuestionParameter, text: string, { newestMonth, now }: QuestionTime): string {
  const { type } = parameter;
  if (type === 'month') {
    const [match, count = '0'] = /^newest(?: - (\d{1,3}))?$/.exec(text) ?? [];
    if (match !== undefined) return monthBefore(newestMonth, Number(count));
  } else if (type === 'date') {
    const [match, count = '-1'] = /^(?:(\d{1,5}) days ago|tomorrow)$/.exec(text) ?? [];
    if (match !== undefined) return isoDate(now - Number(count) * dayMs);
  }
  return checked(parameter, text);
}

function checked({ name, type }: QuestionParameter, text: string): string {
  const [expected, isValid] = {
    month: ['a month such as 2026-01, or newest', /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)] as const,
    date: ['a date such as 2026-01-31', /^\d{4}-\d\d-\d\d$/.test(text) && readInstant(text) !== undefined] as const,
    count: ['a whole number', /^\d{1,15}$/.test(text)] as const,
    text: ['a text that is not empty', text !== ''] as const,
  }[type];
  if (!isValid) throw usageError(`expected the parameter ${name} to be ${expected}, got ${JSON.stringify(text)}`);
  return text;
}

/** The query of a question with its values, and a comment that has them. It runs as it is. */
export function questionQuery(question: Question, values: ReadonlyMap<string, string | undefined>): string {
  const given = question.parameters.map(({ name }) => `-- ${name}: ${JSON.stringify(values.get(name) ?? null)}\n`);
  const query = question.query.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = values.get(name);
    if (value === undefined) return 'NULL';
    return question.parameters.some((parameter) => parameter.name === name && parameter.type === 'count')
      ? value
      : literal(value);
  });
  return `-- ${question.title}\n${given.join('')}${query}`;
}
