import { readCallSettings } from './settings.js';
import { distinctNames } from '../core/text/rows.js';
import type { ChangesSummary } from '../app/results.js';
import type { SqlRow } from './lake.js';
import {
  callback,
  callKinds,
  checkOptions,
  instant,
  optionText,
  text,
  texts,
  type CallOptions,
  type Kind,
  type OptionsOf,
} from './options.js';
import { runTask } from './task.js';

/** A row that came or went. A row that changed does both. */
export interface RowChange {
  /** Its table. */
  readonly table: string;
  /** `delete`: it went. */
  readonly change: 'insert' | 'delete';
  /** Its values by column. */
  readonly row: SqlRow;
}

const version: Kind<number | string | Date> = {
  expected: 'a version as a number, VERSION or VERSION:HASH, or an instant: a Date, or a text in ISO 8601',
  isValid: (value): value is number | string | Date =>
    instant.isValid(value) || (Number.isSafeInteger(value) && Number(value) >= 0),
};

const changesKinds = {
  ...callKinds,
  /** A version (42, `42`), `VERSION:HASH`, an instant, or a `Date`; default: the beginning, so that all rows are new. */
  since: version,
  /** Tables; default: all. */
  tables: texts(),
  /** The account; default: all. */
  account: text(),
  /** Columns that rows are compared and received without, such as `position`, `window_start` and `window_end`; default: none. */
  exclude: texts(),
  /** Receives each change, of each table those that went first. The next one waits for its promise. */
  onChange: callback<(change: RowChange) => unknown>(),
};

/** The options of `changes`. */
export interface ChangesOptions extends CallOptions, OptionsOf<typeof changesKinds> {}

const names = new Map([['table', 'tables']]);

/**
 * Compares the newest version of a lake with an earlier one, as `ledgerlake changes` does. The promise resolves to the version to go on
 * from once every change was received.
 *
 * @throws LedgerlakeError USAGE for a table or account that the lake lacks, and for a column that can't be excluded; LAKE_HISTORY where
 * the earlier version can't be read any more; LAKE_STORE or LAKE_LOG where the lake can't be read; STOPPED; what `onChange` throws
 */
export async function changes(options: ChangesOptions = {}): Promise<ChangesSummary> {
  checkOptions('changes', options, changesKinds);
  const { tables = [], account, exclude = [], onChange } = options;
  const [{ readChanges }, { readSince }] = await Promise.all([
    import('../app/changes/read-changes.js'),
    import('../app/changes/since.js'),
  ]);
  const { lake, retentionHours } = await readCallSettings(options);
  return runTask({ ...options, names }, (context) => {
    const given = optionText(options.since);
    const since = given === undefined ? undefined : readSince(given);
    const compared = { lake, retentionHours, since, tables, account, exclude };
    return readChanges(compared, context, async ({ query, database }, signal) => {
      if (onChange === undefined) return;
      const { columns, chunks } = await database.query(query, { signal });
      const names = distinctNames(columns);
      for await (const rows of chunks) {
        for (const cells of rows) {
          const [table, change, ...values] = cells;
          const row = Object.fromEntries(names.slice(2).map((name, at) => [name, values[at] ?? null]));
          await onChange({ table: String(table), change: change === 'delete' ? 'delete' : 'insert', row });
        }
      }
    });
  });
}
