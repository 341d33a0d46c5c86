import { pipelines } from '../../../pipelines/all-pipelines.js';
import { dayMs } from '../../core/windows.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { backfillCommand, shellWord } from '../command-text.js';
import type { Problem } from './certificate.js';

/** What is known of a lake beside its problems. */
export interface MendedLake {
  /** As the user wrote it. */
  readonly lake: string;
  readonly lastRun: LastRun | undefined;
}

/** Files whose rows a new reading of the slice replaces. */
const rereadChecks: ReadonlySet<string> = new Set(['file-bytes', 'parquet']);
/** Rows that follow from other rows of the lake. */
const derivedChecks: ReadonlySet<string> = new Set(['amounts', 'roles']);

/**
 * The command that mends a problem of the lake, to be pasted into a shell; undefined where there is none that is known to, as for
 * the settlements and orders of a file, which have no range.
 */
export function mendingCommand({ check, kind, table, file, slice }: Problem, of: MendedLake): string | undefined {
  if (kind !== 'lake') return undefined;
  const { lake, lastRun } = of;
  const filled = pipelines.find(({ tables }) => tables.some(({ name }) => name === table));
  const pipeline = filled?.name;
  const isDerived = filled?.derivation !== undefined && filled.tables.length > 1 && filled.tables[0]?.name === table;
  // What follows from other rows of the lake costs no quota.
  if (derivedChecks.has(check) || (rereadChecks.has(check) && isDerived)) {
    return ['ledgerlake', 'rebuild', '--lake', lake].map(shellWord).join(' ');
  }
  const [, account] = /\/account=([^/]+)\//.exec(file) ?? [];
  const [, start = '', end = ''] = /^window\/([^/]+)\/(\S+)$/.exec(slice) ?? [];
  if (!rereadChecks.has(check) || pipeline === undefined || account === undefined || end === '') return undefined;
  const endpoint = lastRun?.account === account ? (lastRun.endpoint ?? undefined) : undefined;
  const range = { start: Date.parse(start), end: Date.parse(end) };
  if (!(range.end - range.start <= 400 * dayMs)) return undefined;
  return `${backfillCommand({ pipelines: [pipeline], lake, account, range, endpoint })} --refresh`;
}
