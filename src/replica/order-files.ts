import type { CommittedFile } from './committed-files.js';
import type { LocalCopies } from './local-copies.js';
import type { Readers } from './readers.js';
import { read } from './stored-rows.js';

/**
 * Which files that were loaded by date hold an order: a hash of each order of each file, kept by DuckDB, as nothing in the
 * files tells without reading a column of them all. Each file is looked at once, when the first order is asked for.
 */
export class OrderFiles {
  readonly #readers: Readers;
  readonly #copies: LocalCopies;
  /** Numbers of files by path. */
  readonly #numbers = new Map<string, number>();
  #count = 0;
  #made = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(readers: Readers, copies: LocalCopies) {
    this.#readers = readers;
    this.#copies = copies;
  }

  /** Those of the files that hold the order, and hardly ever one that doesn't. One question at a time. */
  holding(order: string, files: readonly CommittedFile[]): Promise<CommittedFile[]> {
    const turn = this.#queue.then(async () => {
      await this.#lookAt(files);
      const found = await this.#readers.rows({
        sql: 'SELECT DISTINCT file FROM orders WHERE hash = hash($1::VARCHAR)',
        parameters: [order],
      });
      const numbers = new Set(found.map(({ file }) => Number(file)));
      return files.filter(({ path }) => numbers.has(this.#numbers.get(path) ?? -1));
    });
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #lookAt(files: readonly CommittedFile[]): Promise<void> {
    if (!this.#made) await this.#run('CREATE TABLE orders (hash UBIGINT, file INTEGER)');
    this.#made = true;
    const current = new Set(files.map(({ path }) => path));
    const gone = [...this.#numbers].filter(([path]) => !current.has(path));
    if (gone.length > 0) {
      await this.#run(`DELETE FROM orders WHERE file IN (${gone.map(([, number]) => number).join(', ')})`);
      for (const [path] of gone) this.#numbers.delete(path);
    }
    for (const file of files) {
      if (this.#numbers.has(file.path)) continue;
      const number = this.#count++;
      const rows = `${read([await this.#copies.addressOf(file)])} WHERE amazon_order_id IS NOT NULL`;
      await this.#run(`INSERT INTO orders SELECT DISTINCT hash(amazon_order_id), ${number} FROM ${rows}`);
      this.#numbers.set(file.path, number);
    }
  }

  async #run(sql: string): Promise<void> {
    await this.#readers.rows({ sql, parameters: [] });
  }
}
