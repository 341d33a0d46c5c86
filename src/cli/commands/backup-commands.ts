import { usageError } from '../../core/errors.js';
import { remoteForm } from '../../lake/store/open-store.js';
import { shared, type CommandArguments, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

/** @throws LedgerlakeError USAGE without it */
function readPlace(args: CommandArguments, name: string): string {
  const place = args.text(name);
  if (place === undefined) throw usageError(`expected ${name}, got none; name a folder or ${remoteForm}`);
  return place;
}

export const backupCommand: CommandDefinition = {
  name: 'backup',
  notifies: true,
  positional: { name: 'DESTINATION', many: false, about: `Folder, or ${remoteForm}: empty, or an earlier backup` },
  about: 'Copy the lake to another place, also while runs write',
  description:
    'Copies the newest version of the lake: what is there already is not copied again. A backup is a lake: sql, status and\n' +
    'verify read it with --lake. What `forget` has removed from the lake, the next backup removes from DESTINATION. A backup\n' +
    'that is killed leaves the version that was there before, and the same command continues.',
  options: shared('lake', 'config', 'json'),
  examples: [
    ['backup /mnt/backup/lake', 'each night'],
    ['backup s3://my-backups/lake', 'to another bucket'],
  ],
  run: async (args, context) => {
    const destination = readPlace(args, 'DESTINATION');
    const { backup } = await import('../../app/backup/backup.js');
    return backup({ ...(await readLakeSettings(args)), destination }, context);
  },
};

export const restoreCommand: CommandDefinition = {
  name: 'restore',
  positional: { name: 'SOURCE', many: false, about: `The backup: a folder, or ${remoteForm}` },
  about: 'Copy a backup to an empty place, and prove it',
  description:
    'Copies the newest version of a backup to --lake, which must be empty, or have what an interrupted restore left. Each file\n' +
    'is compared with its hash, and the chain of commits is read back. Then `sync` loads what is newer.',
  options: shared('lake', 'config', 'json'),
  examples: [['restore /mnt/backup/lake --lake data/lake', 'once the damaged lake is moved away']],
  run: async (args, context) => {
    const source = readPlace(args, 'SOURCE');
    const { restore } = await import('../../app/backup/backup.js');
    return restore({ ...(await readLakeSettings(args)), source }, context);
  },
};
