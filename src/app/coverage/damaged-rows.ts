import { pipelineFilling, pipelines } from '../../../pipelines/all-pipelines.js';
import { monthRange, spanOf, type Window } from '../../core/windows.js';
import { spanIn, nameIn } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { derivationOf } from '../../sources/finances/finances-apis.js';
import { eventHistory } from '../../sources/finances/lake-tables.js';
import type { Remedy } from '../remedy.js';
import { storedParts } from './stored-pipelines.js';

/** Rows of a main table to read again. */
export interface RowsToReread {
  readonly table: string;
  /** Their file, within the lake. */
  readonly file: string;
  /** Their load key; empty: all load keys of the file. */
  readonly loadKey: string;
}

/** Orders that a command line may name. */
const mostOrders = 100;

/**
 * What reads rows again: their window, what is loaded of the month of their folder, or their orders. Undefined where none of these is
 * known.
 */
export function rereadRemedy({ table, file, loadKey }: RowsToReread, lake: Lake): Remedy | undefined {
  const schema = lake.tables.find(({ name }) => name === table);
  const filled = pipelineFilling(table);
  const pipeline = filled?.name ?? schema?.customPipeline;
  const [, account, month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(file) ?? [];
  if (schema === undefined || pipeline === undefined || account === undefined) return undefined;
  if (filled?.slicing.loadKeyKind === 'order') {
    const keys = lake.snapshot.fileAt(file)?.loadKeys ?? [loadKey];
    const orders = keys.flatMap((key) => nameIn('order', key) ?? []);
    const isShort = orders.length > 0 && orders.length <= mostOrders;
    return isShort ? { kind: 'reread', pipeline, account, orders } : undefined;
  }
  const range = spanIn('window', loadKey) ?? spanIn('imported', loadKey) ?? loadedRange(lake, account, pipeline, month);
  return range && { kind: 'reread', pipeline, account, range };
}

/** From the first to the last loaded day of a folder's month, as a re-read must load no others; the month where none is loaded. */
function loadedRange(lake: Lake, account: string, pipeline: string, month: string): Window | undefined {
  const range = monthRange(month);
  const parts = range === undefined ? [] : storedParts(lake, pipeline, account, range);
  return parts.length === 0 ? range : spanOf(parts);
}

/** What replaces a damaged data file. */
export function damagedFileRemedy(rows: RowsToReread, lake: Lake): Remedy | undefined {
  if (rows.table === eventHistory.name) return { kind: 'repair' };
  const deriving = derivingPipeline(rows.table);
  if (deriving === undefined) return rereadRemedy(rows, lake);
  // Lines of a settlement report are read with it: `rebuild` doesn't derive them.
  return { kind: derivationOf(deriving) === undefined ? 'repair' : 'rebuild' };
}

/** What replaces rows of a derived table. */
export function derivedRowsRemedy(rows: RowsToReread, lake: Lake): Remedy | undefined {
  const isCustom = lake.tables.find(({ name }) => name === rows.table)?.customPipeline !== undefined;
  // `rebuild` would need the pipeline's definition.
  return isCustom ? rereadRemedy(rows, lake) : { kind: 'rebuild' };
}

/** The built-in pipeline of which a table is derived. */
export function derivingPipeline(table: string): FinancesPipeline | undefined {
  return pipelines.find(({ derived }) => derived.some(({ name }) => name === table));
}
