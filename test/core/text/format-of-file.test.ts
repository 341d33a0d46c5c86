import { expect, test } from 'vitest';
import { formatOfFile } from '../../../src/core/text/formats.js';

test("a file's ending says the format, and one of no format is refused", () => {
  const files = ['x.csv', 'a.b/X.JSON', 'x.ndjson', 'x.jsonl', 'x.txt', 'x', 'a.csv/x', ''];
  expect(files.map(formatOfFile)).toEqual(['csv', 'json', 'ndjson', 'ndjson', 'table', 'table', 'table', 'table']);
  expect(['x.parquet', 'x.XLSX'].map(formatOfFile)).toEqual(['parquet', 'xlsx']);
  for (const file of ['x.parquet.gz', 'x.xls', 'x.csv.gz']) {
    expect(() => formatOfFile(file)).toThrow(
      /^expected a file that ends with \.csv, \.json, \.ndjson, \.jsonl, \.txt, \.parquet or \.xlsx, or /,
    );
  }
});
