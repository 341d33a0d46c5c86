import { pipelines } from '../../pipelines/all-pipelines.js';
import { months, type Window } from '../core/windows.js';
import { readWindow } from '../engine/slicing/window-slices.js';
import { loadKeysOf } from '../lake/delta/file-tags.js';
import type { Lake } from '../lake/lake.js';
import { parseImportedKey } from '../lake/loads/imported-days.js';
import { endpointToName, type LastRun } from '../lake/upkeep/last-run.js';
import { backfillCommand, commandIn, programCommand, shellWord } from './command-text.js';

/** A lake, as the commands that mend it name it. */
export interface MendedLake {
  readonly lake: Lake;
  /** As the user wrote it. */
  readonly location: string;
  readonly lastRun: LastRun | undefined;
  /** The configuration file, if that was said. */
  readonly config?: string | undefined;
  /** Tables whose log may lack its last commits: nothing says what it had come to, and files lie there that it does not name. */
  readonly cutOff?: ReadonlySet<string>;
}

/** Rows of a main table that are to be read again. */
export interface LostRows {
  readonly table: string;
  /** Their file, within the lake. */
  readonly file: string;
  /** Their load key, where it is one; an empty one means all that the file holds. */
  readonly slice: string;
}

/** Orders that a command line names: more are a file of the user's. */
const mostOrders = 100;

/** `ledgerlake COMMAND … --lake LAKE`, to be pasted into a shell. */
export function lakeCommand(location: string, ...words: readonly string[]): string {
  return programCommand([...words, '--lake', location]);
}

/**
 * The command that reads rows again, to be pasted into a shell: their window, all windows of the month of their folder, or their
 * orders. Undefined where nothing says which these are.
 */
export function rereadCommand({ table, file, slice }: LostRows, of: MendedLake): string | undefined {
  const delta = of.lake.tables.find(({ schema }) => schema.name === table);
  const filled = pipelines.find(({ tables }) => tables.at(-1)?.name === table);
  const pipeline = filled?.name ?? delta?.schema.customPipeline;
  const [, account, month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(file) ?? [];
  if (delta === undefined || pipeline === undefined || account === undefined) return undefined;
  const { location, lastRun, config } = of;
  const endpoint = endpointToName(lastRun, account);
  if (filled?.loadKey === 'order') {
    const add = delta.fileAt(file);
    const ids = (add === undefined ? [slice] : loadKeysOf(add)).flatMap((key) => /^order\/(.+)$/.exec(key)?.[1] ?? []);
    return ordersCommand(pipeline, ids, { location, account, endpoint, config });
  }
  const range = readWindow(slice) ?? parseImportedKey(slice) ?? monthRange(month);
  if (range === undefined) return undefined;
  return `${backfillCommand({ pipelines: [pipeline], lake: location, account, range, endpoint, config })} --refresh`;
}

interface OrdersCommandOptions {
  readonly location: string;
  readonly account: string;
  readonly endpoint: string | undefined;
  readonly config?: string | undefined;
}

/** The command that reads orders again; undefined where there is none, or more than a command line should have. */
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

/** The month that a folder names; undefined for `unknown`. */
export function monthRange(month: string): Window | undefined {
  const start = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-01T00:00:00Z`) : NaN;
  return Number.isNaN(start) ? undefined : months({ start, end: start + 40 * 86_400_000 })[0];
}
