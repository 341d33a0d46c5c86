import { instantCells, textCells } from '../../core/columns/cells.js';
import { columnData, numbersOf } from '../../core/columns/column-data.js';
import type { ParquetSource } from '../../core/parquet/source-blob.js';
import { parquetBatches } from '../../core/parquet/wasm.js';
import { idWords, readId } from './id-numbers.js';

/** Bytes of a file, all columns counted, whose ids are read at once: of their own they are a tenth. */
const readBytes = 32_000_000;

/** Some of a file's events by date, whatever days they are of. */
export interface StoredIds {
  /** Of their ids, as `idWords` a row. */
  readonly words: Int32Array;
  /** When their windows begin, in milliseconds since 1970. */
  readonly days: Float64Array;
  /** Where they stand in their windows. */
  readonly positions: Int32Array;
}

/**
 * The events of a file of the lake by their ids. In batches: they bound the memory, whatever the file's size.
 *
 * @throws Error where the bytes are no Parquet file of events
 */
export async function* storedIds(file: ParquetSource): AsyncGenerator<StoredIds> {
  for await (const batch of parquetBatches(file, ['event_id', 'window_start', 'position'], readBytes)) {
    const id = textCells(batch, 'event_id');
    const start = instantCells(batch, 'window_start');
    const position = columnData(batch, 'position');
    const numbers = position && numbersOf(position);
    if (numbers === undefined) throw new Error('expected position to hold integers');
    const words = new Int32Array(batch.numRows * idWords);
    const days = new Float64Array(batch.numRows);
    const positions = new Int32Array(batch.numRows);
    let rows = 0;
    for (let row = 0; row < batch.numRows; row++) {
      const text = id(row);
      const began = start(row);
      // Else it is of a group or an order.
      if (text === undefined || began === undefined || !readId(text, words, rows * idWords)) continue;
      days[rows] = Number(began / 1000n);
      positions[rows] = numbers.words[row * numbers.wordsPerValue] ?? 0;
      rows++;
    }
    yield {
      words: words.slice(0, rows * idWords),
      days: days.subarray(0, rows),
      positions: positions.subarray(0, rows),
    };
  }
}
