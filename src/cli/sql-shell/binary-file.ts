import type { QueryOptions } from '../../core/duckdb/connection.js';
import type { LakeDatabase } from '../../app/query/lake-database.js';
import type { QueryColumn, QueryResult } from '../../core/duckdb/connection.js';
import { fileLiteral, identifier, literal } from '../../core/duckdb/literals.js';
import { usageError } from '../../core/errors.js';
import type { OutputFile } from '../../core/io/output-file.js';
import type { BinaryFormat } from '../../core/text/formats.js';
import { distinctNames, type ResultRows } from '../../core/text/rows.js';
import { workbook } from '../../core/text/workbook.js';

/** A file for one result, in a format that isn't text. */
export class BinaryFile {
  readonly format: BinaryFormat;
  readonly #file: OutputFile;
  #isWritten = false;

  constructor(file: OutputFile, format: BinaryFormat) {
    this.#file = file;
    this.format = format;
  }

  /** Whether it has a result: without one it is no file of its format. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** @throws LedgerlakeError USAGE where it has a result */
  refuseSecond(): void {
    if (this.#isWritten)
      throw usageError(`expected one query for ${this.#file.path}, got another one; name another file for its result`);
  }

  /**
   * Writes the result of a query, exactly. Returns its number of rows.
   *
   * @throws LedgerlakeError as `LakeDatabase.run`; USAGE where it has a result, and for more rows than a sheet can have
   */
  async write(lake: LakeDatabase, query: string, options: QueryOptions): Promise<number> {
    this.refuseSecond();
    const count =
      this.format === 'parquet'
        ? await writeParquet(lake, query, this.#file.temporary, options)
        : await lake.run(query, (result) => this.#writeWorkbook(result), options);
    this.#isWritten = true;
    return count;
  }

  async #writeWorkbook({ columns, chunks }: QueryResult): Promise<number> {
    const names = distinctNames(columns);
    const rows: ResultRows[number][] = [];
    for await (const chunk of chunks) for (const row of chunk) rows.push(row);
    const sheet = {
      name: 'result',
      columns: columns.map((column, at) => ({ ...column, name: names[at] ?? '' })),
      rows,
    };
    await this.#file.append(workbook([sheet], ''));
    return rows.length;
  }
}

async function writeParquet(lake: LakeDatabase, query: string, path: string, options: QueryOptions): Promise<number> {
  const columns = await lake.run(`FROM (${query}\n) LIMIT 0`, (result) => Promise.resolve(result.columns), options);
  const from = `FROM (${query}\n) AS result_(${columns.map((_, at) => `c${at}_`).join(', ')})`;
  // In the file itself, which is open: a file of another name would remain where the process ends.
  const settings = 'FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false';
  const copy = `COPY (SELECT ${exactColumns(columns)} ${from}) TO ${literal(path)} (${settings})`;
  await lake.run(copy, drained, options);
  return lake.run(`SELECT num_rows FROM parquet_file_metadata(${fileLiteral(path)})`, async ({ chunks }) => {
    let count = 0;
    for await (const rows of chunks) count += rows.reduce((sum, [rowCount]) => sum + Number(rowCount), 0);
    return count;
  });
}

/** The columns of a result as types that Parquet has: DuckDB writes integers wider than 64 bits as doubles. */
function exactColumns(columns: readonly QueryColumn[]): string {
  const names = distinctNames(columns);
  return columns
    .map(({ type }, at) => {
      const value = type === 'HUGEINT' || type === 'UHUGEINT' ? `CAST(c${at}_ AS DECIMAL(38, 0))` : `c${at}_`;
      return `${value} AS ${identifier(names[at] ?? '')}`;
    })
    .join(', ');
}

/** Reads a result to its end. */
export async function drained({ chunks }: QueryResult): Promise<void> {
  const rows = chunks[Symbol.asyncIterator]();
  while ((await rows.next()).done !== true);
}
