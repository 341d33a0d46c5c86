import { Writable } from 'node:stream';
import type { ResultRows } from '../../../src/core/text/rows.js';

/** Keeps what is written to it; with `columns` it passes for a terminal. */
export class Kept extends Writable {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number;

  constructor(columns?: number) {
    super({ decodeStrings: false });
    this.isTTY = columns !== undefined;
    this.columns = columns ?? 0;
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Chunks of rows as a query gives them. */
export async function* chunked(...chunks: readonly ResultRows[]): AsyncGenerator<ResultRows> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

export async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}
