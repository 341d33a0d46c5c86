import { usageError } from '../errors.js';
import { printable } from '../printable.js';

/** Where a field of a CSV file begins, from 1, as editors count. */
export interface CsvPlace {
  readonly line: number;
  readonly column: number;
}

interface CsvField extends CsvPlace {
  readonly text: string;
}

/** A fault in a user's CSV file. */
export function csvFault(file: string, { line, column }: CsvPlace, expected: string, got: string): Error {
  return usageError(`${printable(file)}, line ${line}, column ${column}: expected ${expected}, got ${printable(got)}`);
}

/**
 * The records of a CSV text (RFC 4180) whose first one has the names of the columns, in any order. Empty lines are left out; fields
 * outside of quotes lose the white space around them.
 *
 * @param file its name in errors
 * @param optional the text of one that the file lacks is empty
 * @throws LedgerlakeError USAGE with the line and the column of the first fault
 */
export function csvRecords<Name extends string>(
  text: string,
  file: string,
  columns: readonly Name[],
  optional: readonly Name[],
): readonly { readonly start: CsvPlace; readonly of: (name: Name) => CsvField }[] {
  const fault = (place: CsvPlace, expected: string, got: string): Error => csvFault(file, place, expected, got);
  const [header = [], ...lines] = recordsOf(text, fault);
  const names = header.map((field) => field.text);
  for (const [at, field] of header.entries()) {
    const isKnown = columns.some((name) => name === field.text);
    const separated = field.text.includes(';') ? '; columns are separated by commas' : '';
    if (!isKnown) throw fault(field, `a column of ${columns.join(', ')}`, JSON.stringify(field.text) + separated);
    if (names.indexOf(field.text) < at) throw fault(field, 'each column once', `${field.text} again`);
  }
  const missing = columns.find((name) => !optional.includes(name) && !names.includes(name));
  if (missing !== undefined) {
    const got = names.length === 0 ? 'an empty file' : `only ${names.join(', ')}`;
    throw fault({ line: 1, column: 1 }, `the column ${missing}`, got);
  }
  return lines.map((fields) => {
    const [start = { line: 1, column: 1 }] = fields;
    if (fields.length !== header.length)
      throw fault(start, `${header.length} fields`, `${fields.length} (a comma in a text is between quotes)`);
    return { start, of: (name) => fields[names.indexOf(name)] ?? { ...start, text: '' } };
  });
}

function recordsOf(
  text: string,
  fault: (place: CsvPlace, expected: string, got: string) => Error,
): readonly (readonly CsvField[])[] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  const records: CsvField[][] = [];
  let record: CsvField[] = [];
  let line = 1;
  let lineStart = 0;
  while (field.lastIndex < text.length || record.length > 0) {
    const start = field.lastIndex;
    const place = { line, column: start - lineStart + 1 };
    const found = field.exec(text);
    if (found === null)
      throw fault(place, 'a field, between quotes where it has a quote', text.slice(start, start + 20));
    const [all, quoted, plain = '', end = ''] = found;
    record.push({ ...place, text: quoted?.replaceAll('""', '"') ?? plain.trim() });
    const breaks = [...all.matchAll(/\r\n|\n|\r/g)];
    line += breaks.length;
    const last = breaks.at(-1);
    if (last !== undefined) lineStart = start + last.index + last[0].length;
    if (end === ',') continue;
    if (record.length > 1 || record[0]?.text !== '') records.push(record);
    record = [];
  }
  return records;
}
