import { readCallSettings } from './settings.js';
import { systemClock } from '../core/clock.js';
import { distinctNames } from '../core/text/rows.js';
import type { ChangesSummary } from '../app/results.js';
import type { SqlRow } from './lake.js';
import { callKinds, checkOptions, optionText, type CallOptions, type OptionKinds } from './options.js';
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

/** The options of `changes`. */
export interface ChangesOptions extends CallOptions {
  /** A version (42, `42`), `VERSION:HASH`, an instant, or a `Date`; default: the beginning, so that all rows are new. */
  readonly since?: number | string | Date | undefined;
  /** Tables; default: all. */
  readonly tables?: readonly string[] | undefined;
  /** The account; default: all. */
  readonly account?: string | undefined;
  /** Columns that rows are compared and received without, such as `position`, `window_start` and `window_end`; default: none. */
  readonly exclude?: readonly string[] | undefined;
  /** Receives each change, of each table those that went first. The next one waits for its promise. */
  readonly onChange?: ((change: RowChange) => unknown) | undefined;
}

const changesKinds: OptionKinds<ChangesOptions> = {
  ...callKinds,
  ...{ since: 'version', tables: 'texts', account: 'text', exclude: 'texts', onChange: 'function' },
};

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
  return runTask({ ...options, names }, ({ signal, emit }) => {
    const text = optionText(options.since);
    const since = text === undefined ? undefined : readSince(text);
    const compared = { lake, retentionHours, since, tables, account, exclude };
    return readChanges(compared, { clock: systemClock, signal, emit }, async ({ query, database }) => {
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
