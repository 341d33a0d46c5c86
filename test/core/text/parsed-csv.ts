/** A reader of RFC 4180 with bare line feeds: a quoted field is a string, an unquoted one too unless it is empty: null. */
export function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    let field: string | null = '';
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (at >= text.length) throw new Error('a quote is open');
        if (text[at] === '"') at++;
        field += text[at] ?? '';
      }
      at++;
    } else {
      for (; text[at] !== ',' && text[at] !== '\n'; at++) {
        if (at >= text.length || text[at] === '"' || text[at] === '\r') throw new Error('unquoted');
        field += text[at] ?? '';
      }
      if (field === '') field = null;
    }
    row.push(field);
    if (text[at] === '\n') {
      rows.push(row);
      row = [];
    } else if (text[at] !== ',') throw new Error(`neither a comma nor a line feed at ${at}`);
  }
  if (row.length > 0) throw new Error('the last line has no end');
  return rows;
}
