import { Mutex } from '../../core/mutex.js';
import type { CommittedFile } from '../lake/committed-files.js';
import type { LakePages } from '../lake/lake-pages.js';
import { numberedRows } from '../lake/stored-rows.js';

/** The rows of an order in one file. */
interface OrderRows {
  readonly file: CommittedFile;
  /** Row numbers in the file, from 0; undefined: too many, so that the whole file is read. */
  readonly rows: readonly number[] | undefined;
}

/** Largest number of rows that are looked up one by one in a file. */
const mostRows = 1000;

/**
 * An index of orders in the files that were loaded by date: DuckDB keeps a hash of each event's order id with its row
 * number, as otherwise each query would read a whole column. Each file is indexed once, when first needed. With row numbers
 * DuckDB decodes only the row groups that contain them.
 */
export class OrderIndex {
  readonly #pages: Pick<LakePages, 'readers' | 'addresses'>;
  /** File numbers by path. */
  readonly #numbers = new Map<string, number>();
  #count = 0;
  #isCreated = false;
  readonly #mutex = new Mutex();

  constructor(pages: Pick<LakePages, 'readers' | 'addresses'>) {
    this.#pages = pages;
  }

  /** All rows of an order in the files, and, where hashes collide, rows of other orders. Calls run one after the other. */
  orderRows(order: string, files: readonly CommittedFile[]): Promise<OrderRows[]> {
    return this.#mutex.run(async () => {
      await this.#index(files);
      const found = await this.#pages.readers.rows({
        sql:
          `SELECT file, CASE WHEN count(*) <= ${mostRows} THEN string_agg("row", ' ') END AS "rows" FROM orders ` +
          'WHERE hash = hash($1::VARCHAR) GROUP BY file',
        parameters: [order],
      });
      const byNumber = new Map(found.map(({ file, rows }) => [Number(file), rows]));
      return files.flatMap((file): OrderRows[] => {
        const rows = byNumber.get(this.#numbers.get(file.path) ?? -1);
        if (rows === undefined) return [];
        return [{ file, rows: rows === null ? undefined : String(rows).split(' ').map(Number) }];
      });
    });
  }

  async #index(files: readonly CommittedFile[]): Promise<void> {
    if (!this.#isCreated) await this.#execute('CREATE TABLE orders (hash UBIGINT, file INTEGER, "row" INTEGER)');
    this.#isCreated = true;
    const current = new Set(files.map(({ path }) => path));
    const removed = [...this.#numbers].filter(([path]) => !current.has(path));
    if (removed.length > 0) {
      await this.#execute(`DELETE FROM orders WHERE file IN (${removed.map(([, number]) => number).join(', ')})`);
      for (const [path] of removed) this.#numbers.delete(path);
    }
    for (const file of files) {
      if (this.#numbers.has(file.path)) continue;
      const number = this.#count++;
      const [address = ''] = await this.#pages.addresses([file]);
      const rows = numberedRows(address);
      await this.#execute(
        `INSERT INTO orders SELECT hash(amazon_order_id), ${number}, file_row_number FROM ${rows} ` +
          'WHERE amazon_order_id IS NOT NULL',
      );
      this.#numbers.set(file.path, number);
    }
  }

  async #execute(sql: string): Promise<void> {
    await this.#pages.readers.rows({ sql, parameters: [] });
  }
}
