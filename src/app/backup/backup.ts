import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { existingLake, refuseFile, type LakeAddress } from '../../lake/existing-lake.js';
import type { Lake } from '../../lake/lake.js';
import { openStore } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import { noteBackup, placeOf } from '../../lake/upkeep/backup-notes.js';
import { copyLake, type CopiedLake } from '../../lake/upkeep/copy-lake.js';
import { acquireLease } from '../../lake/leases.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { catalogLine } from '../catalog-version.js';
import { underLease, withKnown, type CommandResult } from '../command-result.js';
import { withCommandsIn } from '../command-text.js';
import { emitDamage, type RunContext } from '../context.js';
import type { BackupSummary, CopySummary, RestoreSummary } from '../results.js';

export interface BackupOptions extends LakeAddress {
  /** Where the backup is or will be, written as the location of a lake. */
  readonly destination: string;
  /** Used instead of the store that `destination` names. */
  readonly destinationStore?: Store;
}

export interface RestoreOptions extends LakeAddress {
  /** The backup, written as the location of a lake. */
  readonly source: string;
  /** Used instead of the store that `source` names. */
  readonly sourceStore?: Store;
}

/**
 * `ledgerlake backup`: copies the newest version of a lake to a place that is empty or has an earlier backup of it. Other runs may
 * commit meanwhile. A backup is a lake. The lake notes which backups it has, for `forget`; the backup, that it is one.
 *
 * @throws LedgerlakeError as `copyLake`; USAGE where one place is the other or is within it
 */
export function backup(options: BackupOptions, context: RunContext): Promise<CommandResult<BackupSummary>> {
  const { lake, destination } = options;
  return withKnown(backUp(options, context), () => ({ lake, destination, catalog: null }));
}

async function backUp(options: BackupOptions, context: RunContext): Promise<CommandResult<BackupSummary>> {
  const { lake, destination, encryption } = options;
  const { clock, signal, emit } = context;
  const began = clock.now();
  const place = placeOf(destination);
  refuseNested('DESTINATION', place, lake);
  await refuseFile(destination, 'DESTINATION');
  const source = await openSource(options, context);
  const target = options.destinationStore ?? openStore(destination, { clock, emit, encryption });
  const noteIn = (store: Store, version: number | null) =>
    noteBackup(store, { destination: place, lake: placeOf(lake), version, at: clock.now() });
  const lease = await acquireLease(source, clock, { command: 'backup', pipelines: [] });
  // It leaves nothing that a vacuum would have to look for.
  lease.cleared();
  return underLease(lease, async () => {
    const begin = () => noteIn(source.store, null);
    const copying = copyLake(source, target, { command: 'backup', clock, signal, emit, begin });
    const copied = await namingBackup('DESTINATION', destination, copying);
    await noteIn(source.store, copied.version);
    await noteIn(target, copied.version);
    const heading = `Backed up ${printable(lake)} to ${printable(destination)}`;
    const summary = { lake, destination, ...backupSummary(copied, clock.now() - began) };
    return { text: backupText(heading, copied), summary };
  });
}

/**
 * `ledgerlake restore`: copies the newest version of a backup to a place that is empty or has an earlier version of it. The restored
 * lake notes the backup.
 *
 * @throws LedgerlakeError as `backup`
 */
export function restore(options: RestoreOptions, context: RunContext): Promise<CommandResult<RestoreSummary>> {
  const { lake, source } = options;
  return withKnown(restoreFrom(options, context), () => ({ lake, source, catalog: null }));
}

async function restoreFrom(options: RestoreOptions, context: RunContext): Promise<CommandResult<RestoreSummary>> {
  const { lake, source: address, encryption } = options;
  const { clock, signal, emit } = context;
  const began = clock.now();
  const place = placeOf(address);
  refuseNested('SOURCE', place, lake);
  await refuseFile(lake);
  const opening = openSource({ lake: address, store: options.sourceStore, argument: 'SOURCE' }, context);
  const source = await namingBackup('SOURCE', address, opening);
  const target = options.store ?? openStore(lake, { clock, emit, encryption });
  const copying = copyLake(source, target, { command: 'restore', clock, signal, emit });
  const copied = await namingBackup('SOURCE', address, copying);
  await noteBackup(target, { destination: place, lake: placeOf(lake), version: copied.version, at: clock.now() });
  const heading = `Restored ${printable(lake)} from ${printable(address)}`;
  const summary = { lake, source: address, ...backupSummary(copied, clock.now() - began) };
  return { text: backupText(heading, copied), summary };
}

/** Opens the lake that is copied. Throws a USAGE error where it is empty. */
async function openSource(address: LakeAddress, context: RunContext): Promise<Lake> {
  const source = await existingLake(address, tables, context);
  emitDamage(source, context.emit);
  if (source.snapshot.isEmpty)
    throw usageError(`expected a lake at ${address.lake}, got an empty place; nothing was copied`);
  return source;
}

/** Awaits a step. Where it fails because of a file of the backup, its message names the argument and the backup, and not `--lake`. */
async function namingBackup<T>(argument: 'DESTINATION' | 'SOURCE', location: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    const folders = [location, placeOf(location)].map((folder) => ` ${folder.replace(/\/+$/, '')}/`);
    if (!(error instanceof LedgerlakeError) || !folders.some((folder) => error.message.includes(folder))) throw error;
    const { code, message, details } = error;
    const named = withCommandsIn({ lake: location }, message).replace('another --lake', `another ${argument}`);
    throw new LedgerlakeError(code, named, { cause: error, ...(details !== undefined && { details }) });
  }
}

/** Refuses a copy of a lake within itself, and the other way round. `name`: that of the argument. */
function refuseNested(name: string, place: string, lake: string): void {
  const lakePlace = placeOf(lake);
  const [outer, inner] = [place, lakePlace].toSorted((a, b) => a.length - b.length);
  const isNested = inner === outer || inner?.startsWith(`${outer?.replace(/[\\/]$/, '')}/`) === true;
  if (!isNested) return;
  throw usageError(
    `expected ${name} to be another place than the lake ${lakePlace}, neither in it nor around it, got ${place}`,
  );
}

function backupText(heading: string, { version, hash, files, copied, removed, erasedCommits }: CopiedLake): string {
  const size = ({ files, bytes }: CopiedLake['copied']) => `${formatCount(files, 'file')}, ${formatBytes(bytes)}`;
  const lines = [
    `${heading}: version ${version}`,
    '',
    `Copied: ${size(copied)}, of ${formatCount(files)} that the version has`,
    ...(removed.files === 0 ? [] : [`Removed: ${size(removed)}, which it doesn't have any more`]),
    ...(erasedCommits === 0 ? [] : [`Erased: ${formatCount(erasedCommits, 'commit')}, as \`ledgerlake forget\` did`]),
    catalogLine({ version, hash }),
  ];
  return ['', ...lines].join('\n');
}

function backupSummary(
  { version, hash, files, copied, removed, erasedCommits }: CopiedLake,
  milliseconds: number,
): CopySummary {
  return {
    status: 'done',
    seconds: milliseconds / 1000,
    files,
    copied,
    removed,
    erased_commits: erasedCommits,
    catalog: { version, hash },
  };
}
