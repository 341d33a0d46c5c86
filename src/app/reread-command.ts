import { pipelines } from '../../pipelines/all-pipelines.js';
import { months, type Window } from '../core/windows.js';
import { readWindow } from '../engine/slicing/window-slices.js';
import { loadKeysOf } from '../lake/delta/file-tags.js';
import type { Lake } from '../lake/lake.js';
import { parseImportedKey } from '../lake/loads/imported-spans.js';
import { endpointToName, type LastRun } from '../lake/upkeep/last-run.js';
import { backfillCommandLine, commandIn, programCommand, shellWord } from './command-text.js';

/** A lake that is repaired by commands. */
export interface RepairedLake {
  readonly lake: Lake;
  /** As the user wrote it. */
  readonly location: string;
  readonly lastRun: LastRun | undefined;
  /** The configuration file; undefined: commands don't name it. */
  readonly config?: string | undefined;
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

/** `ledgerlake COMMAND … --lake LAKE`, quoted for a shell. */
export function lakeCommand(location: string, ...words: readonly string[]): string {
  return programCommand([...words, '--lake', location]);
}

/**
 * The command that reads rows again, quoted for a shell: their window, the month of their folder, or their orders. Undefined
 * where none of these is known.
 */
export function rereadCommand({ table, file, slice }: RowsToReread, repaired: RepairedLake): string | undefined {
  const delta = repaired.lake.tables.find(({ schema }) => schema.name === table);
  const filled = pipelines.find(({ tables }) => tables.at(-1)?.name === table);
  const pipeline = filled?.name ?? delta?.schema.customPipeline;
  const [, account, month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(file) ?? [];
  if (delta === undefined || pipeline === undefined || account === undefined) return undefined;
  const { location, lastRun, config } = repaired;
  const endpoint = endpointToName(lastRun, account);
  if (filled?.loadKey === 'order') {
    const add = delta.fileAt(file);
    const ids = (add === undefined ? [slice] : loadKeysOf(add)).flatMap((key) => /^order\/(.+)$/.exec(key)?.[1] ?? []);
    return ordersCommand(pipeline, ids, { location, account, endpoint, config });
  }
  const range = readWindow(slice) ?? parseImportedKey(slice) ?? monthRange(month);
  if (range === undefined) return undefined;
  return `${backfillCommandLine({ pipelines: [pipeline], lake: location, account, range, endpoint, config })} --refresh`;
}

interface OrdersCommandOptions {
  readonly location: string;
  readonly account: string;
  readonly endpoint: string | undefined;
  readonly config?: string | undefined;
}

/** The command that reads orders again; undefined where there is no order, or more than `mostOrders`. */
export function ordersCommand(
  pipeline: string,
  ids: readonly string[],
  { location, account, endpoint, config }: OrdersCommandOptions,
): string | undefined {
  if (ids.length === 0 || ids.length > mostOrders) return undefined;
  const words = ['backfill', pipeline, '--lake', location, '--account', account];
  const more = [...(endpoint === undefined ? [] : ['--endpoint', endpoint]), '--orders', '-', '--refresh'];
  const command = commandIn({ config }, programCommand([...words, ...more]));
  return `printf '%s\\n' ${ids.map(shellWord).join(' ')} | ${command}`;
}

/** The month of a folder's name; undefined for `unknown`. */
export function monthRange(month: string): Window | undefined {
  const start = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-01T00:00:00Z`) : NaN;
  return Number.isNaN(start) ? undefined : months({ start, end: start + 40 * 86_400_000 })[0];
}
