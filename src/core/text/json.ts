import { cellText, jsonNumber, type Cell, type Column, type Kind, type Rows } from './rows.js';

/**
 * One JSON array, an object a row, each on a line of its own. Numbers are written with all their digits (`25.100000`,
 * 2^64): JSON allows it, and a reader that wants them exact reads them as decimals, not as doubles. NaN and the
 * infinities are null.
 */
export async function* jsonText(columns: readonly Column[], chunks: AsyncIterable<Rows>): AsyncGenerator<string> {
  const keys = keysOf(columns);
  let before = '[';
  for await (const rows of chunks) {
    if (rows.length === 0) continue;
    yield `${before}\n${rows.map((row) => objectText(columns, keys, row)).join(',\n')}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

/** The same objects as newline-delimited JSON: one a line, nothing around them. */
export async function* ndjsonText(columns: readonly Column[], chunks: AsyncIterable<Rows>): AsyncGenerator<string> {
  const keys = keysOf(columns);
  for await (const rows of chunks) yield rows.map((row) => `${objectText(columns, keys, row)}\n`).join('');
}

/** Each column's key with its colon; a name that was there before gets `_1`, `_2` …, so that no value hides another. */
function keysOf(columns: readonly Column[]): readonly string[] {
  const names = new Set(columns.map((column) => column.name));
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let key = name;
    for (let number = 1; taken.has(key) || (key !== name && names.has(key)); number++) key = `${name}_${number}`;
    taken.add(key);
    return `${JSON.stringify(key)}:`;
  });
}

function objectText(columns: readonly Column[], keys: readonly string[], row: readonly Cell[]): string {
  return `{${keys.map((key, at) => key + valueText(columns[at]?.kind ?? 'text', row[at] ?? null)).join(',')}}`;
}

function valueText(kind: Kind, cell: Cell): string {
  if (cell === null) return 'null';
  const text = cellText(cell);
  switch (kind) {
    case 'number':
      return jsonNumber(text);
    case 'boolean':
      return text;
    case 'json':
      // Inside JSON these can only be white space between two tokens; ndjson needs line breaks gone.
      return text.replaceAll(/[\t\r\n]+/g, ' ');
    case 'time':
    case 'text':
      return JSON.stringify(text);
  }
}
