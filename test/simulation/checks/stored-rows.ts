import { writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { encodedColumns } from '../../../src/core/parquet/decode-columns.js';
import { Violation } from '../../lake/simulation/violation.js';
import { Multiset } from '../world/answers.js';

/** The tables whose rows are compared with the answers, and the column of what says to which answer a row belongs. */
export const mainTables = ['events', 'group_events', 'transactions'] as const;

/** The rows of a file, by the answer that they are of: `START/END` in milliseconds, or a settlement. */
export type RowsByAnswer = ReadonlyMap<string, Multiset>;

/** Reads the rows of data files, without the program's reader where another has written them. */
export class StoredRows {
  readonly #folder: string;
  readonly #known = new Map<string, RowsByAnswer>();
  #database: Database | undefined;
  #files = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async of(table: string, path: string, bytes: Uint8Array): Promise<RowsByAnswer> {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const rows = (await encoded(table, bytes)) ?? (await this.#queried(table, bytes));
    this.#known.set(path, rows);
    return rows;
  }

  drop(path: string): void {
    this.#known.delete(path);
  }

  close(): void {
    this.#database?.close();
  }

  async #queried(table: string, bytes: Uint8Array): Promise<RowsByAnswer> {
    this.#database ??= await openDatabase({ settings: { threads: 1 } });
    const file = join(this.#folder, `checked-${this.#files++}.parquet`);
    await writeFile(file, bytes);
    const answer =
      table === 'group_events' ? 'group_id' : "epoch_ms(window_start)::VARCHAR || '/' || epoch_ms(window_end)::VARCHAR";
    const found = new Map<string, Multiset>();
    const { chunks } = await this.#database.query(
      `SELECT ${answer} AS answer, raw FROM read_parquet('${file}', hive_partitioning = false)`,
    );
    for await (const rows of chunks) for (const [key, raw] of rows) addTo(found, String(key), String(raw));
    await rm(file);
    return found;
  }
}

/** By the program's own reader of its own files, which is ten times as fast as DuckDB; DuckDB reads all of them at the end. */
async function encoded(table: string, bytes: Uint8Array): Promise<RowsByAnswer | undefined> {
  const isOfGroup = table === 'group_events';
  const chosen = isOfGroup
    ? { texts: ['raw', 'group_id'], instants: [] }
    : { texts: ['raw'], instants: ['window_start', 'window_end', ...dates(table)] };
  const groups = await encodedColumns(bytes, chosen);
  if (groups === undefined) return undefined;
  const found = new Map<string, Multiset>();
  const decoder = new TextDecoder();
  for await (const group of groups) {
    const { rows } = group;
    const raw = group.texts('raw');
    const groupId = isOfGroup ? group.texts('group_id') : undefined;
    const [effective, posted] = dates(table).map((name) => group.instants(name));
    const [start, end] = isOfGroup ? [] : [group.instants('window_start'), group.instants('window_end')];
    for (let row = 0; row < rows; row++) {
      const range = raw(row);
      const text = range === undefined ? '' : decoder.decode(range.page.subarray(range.start, range.end));
      const id = groupId?.(row);
      checkDate(effective?.(row), posted?.(row), start?.(row), end?.(row), text);
      const key =
        id === undefined
          ? `${(start?.(row) ?? 0n) / 1000n}/${(end?.(row) ?? 0n) / 1000n}`
          : decoder.decode(id.page.subarray(id.start, id.end));
      addTo(found, key, text);
    }
  }
  return found;
}

/** The events of a file that the program itself encoded; undefined for another one. */
export async function rawTexts(bytes: Uint8Array): Promise<string[] | undefined> {
  const groups = await encodedColumns(bytes, { texts: ['raw'], instants: [] });
  if (groups === undefined) return undefined;
  const found: string[] = [];
  const decoder = new TextDecoder();
  for await (const group of groups) {
    const { rows } = group;
    const raw = group.texts('raw');
    for (let row = 0; row < rows; row++) {
      const range = raw(row);
      if (range !== undefined) found.push(decoder.decode(range.page.subarray(range.start, range.end)));
    }
  }
  return found;
}

/** The columns of an event's dates. */
function dates(table: string): string[] {
  return table === 'events' ? ['effective_at', 'posted_at'] : [];
}

/** An event lies where its date says, and without one within its window. */
function checkDate(
  effective: bigint | undefined,
  posted: bigint | undefined,
  start = 0n,
  end = 0n,
  text: string,
): void {
  if (effective === undefined) return;
  if (posted !== undefined && posted !== effective)
    throw new Violation(`an event lies at ${effective}, not at ${posted}: ${text}`);
  if (effective < start || effective >= end)
    throw new Violation(`an event lies at ${effective}, outside of its window from ${start} to ${end}: ${text}`);
}

function addTo(found: Map<string, Multiset>, key: string, text: string): void {
  const set = found.get(key);
  if (set === undefined) found.set(key, new Multiset().add(text));
  else set.add(text);
}
