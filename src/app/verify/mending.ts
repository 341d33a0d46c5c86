import { pipelines } from '../../../pipelines/all-pipelines.js';
import { lakeCommand, rereadCommand, type MendedLake } from '../reread-command.js';
import type { Problem } from './certificate.js';

/** Rows that follow from other rows of the lake. */
const derivedChecks: ReadonlySet<string> = new Set(['amounts', 'roles']);
/** Files whose rows a new reading of the slice replaces, or that are derived again. */
const contentChecks: ReadonlySet<string> = new Set(['file-bytes', 'parquet']);

/** The command that mends a problem of the lake, to be pasted into a shell; undefined where there is none that is known to. */
export function mendingCommand({ check, kind, table, file, slice }: Problem, of: MendedLake): string | undefined {
  if (kind !== 'lake') return undefined;
  const rebuild = lakeCommand(of.location, 'rebuild');
  const filled = pipelines.find(({ tables }) => tables.some(({ name }) => name === table));
  const isDerived = filled?.derivation !== undefined && filled.tables.at(-1)?.name !== table;
  // What follows from other rows of the lake costs no quota.
  if (derivedChecks.has(check) || (contentChecks.has(check) && isDerived)) return rebuild;
  return contentChecks.has(check) ? rereadCommand({ table, file, slice }, of) : undefined;
}
