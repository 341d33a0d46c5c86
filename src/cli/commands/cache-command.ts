import { remoteNames } from '../../lake/store/open-store.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { printResult, shared, type CommandDefinition } from '../options/command-definition.js';
import { cacheOf } from '../../app/configuration/settings.js';
import { readLakeSettings } from '../options/command-settings.js';

export const cacheCommand: CommandDefinition = {
  name: 'cache',
  about: `Show or clear the copies of the files of lakes on ${remoteNames}`,
  description:
    '`sql`, `report` and programs read such a lake from copies on this machine, which are fetched once. Those that were used\n' +
    'longest ago go where all have more than the cache may have (cacheGigabytes).',
  options: {
    ...shared('config', 'cache'),
    clear: { isFlag: true, about: 'Remove all copies' },
  },
  examples: [
    ['cache', 'where they are, and how much they have'],
    ['cache --clear', 'remove them'],
  ],
  run: async (args) => {
    const cache = cacheOf(await readLakeSettings(args));
    const { cacheSize, clearCache } = await import('../../lake/files/file-cache.js');
    const { files, bytes } = await cacheSize(cache);
    if (args.flag('clear')) await clearCache(cache);
    const size = `${formatCount(files, 'file')}, ${formatBytes(bytes)}`;
    printResult(
      args.flag('clear')
        ? `${cache.folder}: removed ${size}`
        : `${cache.folder}: ${size} of ${formatBytes(cache.bytes)}`,
    );
    return 0;
  },
};
