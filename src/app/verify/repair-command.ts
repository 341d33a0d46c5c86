import { pipelines } from '../../../pipelines/all-pipelines.js';
import { shellWord } from '../command-text.js';
import { historyFamily } from '../reconcile/event-history.js';
import { lakeCommand, rereadCommand, type RepairedLake } from '../reread-command.js';
import type { CheckName, Problem } from './checks/certificate.js';

/** How a problem that a check finds is repaired. */
type Repair =
  /** Read the rows again; derive those of derived tables again. */
  | 'reread'
  /** Derive the derived tables again, which costs no quota. */
  | 'rebuild'
  /** Restore the catalog, and take damaged files out. */
  | 'log'
  /** Move the file out of the table's folders. */
  | 'move';

/** The repair of each check's problems; checks that are not listed find no problem of the lake itself. */
const repairs: Readonly<Partial<Record<CheckName, Repair>>> = {
  'catalog-chain': 'log',
  'published-logs': 'log',
  'log-tags': 'log',
  'derived-files': 'log',
  windows: 'log',
  'file-bytes': 'reread',
  'unnamed-files': 'move',
  parquet: 'reread',
  'row-counts': 'log',
  statistics: 'log',
  partitions: 'reread',
  positions: 'reread',
  'event-ids': 'reread',
  'raw-columns': 'reread',
  amounts: 'rebuild',
  roles: 'rebuild',
  'unique-ids': 'log',
  'net-sums': 'rebuild',
};

/** The command that repairs a problem of the lake, quoted for a shell; undefined where none is known. */
export function repairCommand(
  { check, kind, table, file, slice }: Problem,
  repaired: RepairedLake,
): string | undefined {
  if (kind !== 'lake') return undefined;
  const { location } = repaired;
  const filled = pipelines.find(({ tables }) => tables.some(({ name }) => name === table));
  const isDerived = filled !== undefined && filled.tables.at(-1)?.name !== table;
  const isHistory = historyFamily.tables.some(({ name }) => name === table);
  const repair = repairs[check];
  // No repair brings a version back that `--expect` names and the chain lacks.
  if (repair === undefined || (check === 'catalog-chain' && file === '')) return undefined;
  const customPipeline = repaired.lake.tables.find(({ schema }) => schema.name === table)?.schema.customPipeline;
  switch (repair) {
    case 'rebuild':
      // `rebuild` would need the pipeline's definition.
      if (customPipeline !== undefined) return rereadCommand({ table, file, slice }, repaired);
      return lakeCommand(location, 'rebuild');
    case 'reread':
      if (isHistory) return lakeCommand(location, 'compact', '--drop-damaged-history');
      return isDerived ? lakeCommand(location, 'rebuild') : rereadCommand({ table, file, slice }, repaired);
    case 'log':
      if (isDerived && check === 'unique-ids') return lakeCommand(location, 'rebuild');
      return lakeCommand(location, 'repair');
    case 'move':
      return moveCommand(location, file);
  }
}

/** The command that moves a file to a name in the lake that no reader takes for data. */
function moveCommand(location: string, file: string): string {
  const root = location.replace(/\/+$/, '');
  const words = location.startsWith('s3://') ? ['aws', 's3', 'mv'] : ['mv', '--'];
  return [...words, `${root}/${file}`, `${root}/_moved-${file.replaceAll('/', '-')}`].map(shellWord).join(' ');
}
