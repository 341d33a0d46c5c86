import { pipelines } from '../../pipelines/all-pipelines.js';
import { months, spanOf, uncovered, type Window } from '../core/windows.js';
import { loadedWindows, readWindow } from '../engine/slicing/window-slices.js';
import { nameIn } from '../lake/catalog/load-key.js';
import { loadKeysOf } from '../lake/delta/file-tags.js';
import type { Lake } from '../lake/lake.js';
import { importedDays, parseImportedKey } from '../lake/loads/imported-spans.js';
import type { FinancesPipeline } from '../sources/finances/connect-finances.js';
import { eventHistory } from '../sources/finances/model/tables.js';
import { moveWords } from '../lake/store/open-store.js';
import { endpointToName, type LastRun } from '../lake/upkeep/last-run.js';
import {
  commandIn,
  loadCommand,
  loadingCommand,
  programCommand,
  shellWord,
  type LoadArguments,
  type LoadingArguments,
} from './command-text.js';

/** What repairs a problem of a lake. */
export type Remedy =
  /** Moves a file, which is none of the lake's, out of the tables' folders. */
  | { readonly kind: 'move'; readonly file: string }
  /** Copies to a backup what it lacks of its lake, once a damaged file is moved away. */
  | { readonly kind: 'backup'; readonly of: string; readonly damaged?: string }
  /** Restores the catalog, and takes damaged files out. */
  | { readonly kind: 'repair' }
  /** Loads windows that the lake lacks. */
  | ({ readonly kind: 'load' } & LoadingArguments)
  /** Reads rows again, of a range or of orders. */
  | ({ readonly kind: 'reread'; readonly pipeline: string } & Pick<LoadArguments, 'account' | 'range' | 'orders'>)
  /** Names the command that loads what is missing. */
  | { readonly kind: 'status' }
  /** Derives the derived tables again, which costs no quota. */
  | { readonly kind: 'rebuild' }
  /** Reads and writes every file. */
  | { readonly kind: 'compact' };

/**
 * The order in which remedies are to be applied: those that read rows again come before those that derive other rows from them;
 * those that read every file come last.
 */
export const remedyRanks: Readonly<Record<Remedy['kind'], number>> = {
  ...{ move: 0, repair: 0 },
  ...{ backup: 1, load: 1, reread: 1, status: 1 },
  ...{ rebuild: 2, compact: 3 },
};

/** A lake as commands name it. */
export interface NamedLake {
  /** As the user wrote it. */
  readonly location: string;
  readonly lastRun: LastRun | undefined;
  /** The configuration file; undefined: commands don't name it. */
  readonly config?: string | undefined;
}

/** The command that applies a remedy, quoted for a shell. */
export function remedyCommand(remedy: Remedy, { location, lastRun, config }: NamedLake): string {
  const scope = { lake: location, config };
  switch (remedy.kind) {
    case 'move':
      return moveCommand(location, remedy.file);
    case 'backup': {
      const command = programCommand(['backup', location, '--lake', remedy.of]);
      return remedy.damaged === undefined ? command : `${moveCommand(location, remedy.damaged)} && ${command}`;
    }
    case 'load':
      return commandIn({ ...scope, endpoint: endpointToName(lastRun, remedy.account) }, loadingCommand(remedy));
    case 'reread': {
      const { pipeline, account, range, orders } = remedy;
      const rows = { pipelines: [pipeline], account, range, orders, endpoint: endpointToName(lastRun, account) };
      return loadCommand('backfill', { ...scope, ...rows, refresh: true });
    }
    case 'repair':
    case 'status':
    case 'rebuild':
    case 'compact':
      return commandIn(scope, `ledgerlake ${remedy.kind}`);
  }
}

/** The command that moves a file to a name in the lake that no reader takes for data. */
function moveCommand(location: string, file: string): string {
  const root = location.replace(/\/+$/, '');
  const addresses = [`${root}/${file}`, `${root}/_moved-${file.replaceAll('/', '-')}`];
  return [...moveWords(location), ...addresses].map(shellWord).join(' ');
}

/** Rows of a main table to read again. */
export interface RowsToReread {
  readonly table: string;
  /** Their file, within the lake. */
  readonly file: string;
  /** Their load key; empty: all load keys of the file. */
  readonly slice: string;
}

/** Orders that a command line may name. */
const mostOrders = 100;

/**
 * What reads rows again: their window, what is loaded of the month of their folder, or their orders. Undefined where none of these is
 * known.
 */
export function rereadRemedy({ table, file, slice }: RowsToReread, lake: Lake): Remedy | undefined {
  const delta = lake.tables.find(({ schema }) => schema.name === table);
  const filled = pipelines.find((pipeline) => pipeline.main.name === table);
  const pipeline = filled?.name ?? delta?.schema.customPipeline;
  const [, account, month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(file) ?? [];
  if (delta === undefined || pipeline === undefined || account === undefined) return undefined;
  if (filled?.loadKeyKind === 'order') {
    const add = delta.fileAt(file);
    const keys = add === undefined ? [slice] : loadKeysOf(add);
    const orders = keys.flatMap((key) => nameIn('order', key) ?? []);
    const isShort = orders.length > 0 && orders.length <= mostOrders;
    return isShort ? { kind: 'reread', pipeline, account, orders } : undefined;
  }
  const range = readWindow(slice) ?? parseImportedKey(slice) ?? loadedRange(lake, account, pipeline, month);
  return range && { kind: 'reread', pipeline, account, range };
}

/** From the first to the last loaded day of a folder's month, as a re-read must load no others; the month where none is loaded. */
function loadedRange(lake: Lake, account: string, pipeline: string, month: string): Window | undefined {
  const range = monthRange(month);
  const parts = range === undefined ? [] : loadedParts(lake, account, pipeline, range);
  return parts.length === 0 ? range : spanOf(parts);
}

/** The parts of a range that a pipeline has loaded or imported; none of one without dates. */
export function loadedParts(lake: Lake, account: string, pipeline: string, range: Window): readonly Window[] {
  const coverage = pipelines.find(({ name }) => name === pipeline)?.coverage?.(lake, account, range);
  const windows = [...loadedWindows(lake, pipeline, account), ...importedDays(lake.snapshot, pipeline, account)];
  return uncovered(
    range,
    (coverage?.gaps ?? [range]).flatMap((gap) => uncovered(gap, windows)),
  );
}

/** What replaces a damaged data file. */
export function damagedFileRemedy(rows: RowsToReread, lake: Lake): Remedy | undefined {
  if (rows.table === eventHistory.name) return { kind: 'repair' };
  const deriving = derivingPipeline(rows.table);
  if (deriving === undefined) return rereadRemedy(rows, lake);
  // Lines of a settlement report are read with it: `rebuild` doesn't derive them.
  return { kind: deriving.derivation === undefined ? 'repair' : 'rebuild' };
}

/** The built-in pipeline of which a table is derived. */
export function derivingPipeline(table: string): FinancesPipeline | undefined {
  return pipelines.find(({ derived }) => derived.some(({ name }) => name === table));
}

/** The month of a folder's name; undefined for `unknown`. */
export function monthRange(month: string): Window | undefined {
  const start = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-01T00:00:00Z`) : NaN;
  return Number.isNaN(start) ? undefined : months({ start, end: start + 40 * 86_400_000 })[0];
}
