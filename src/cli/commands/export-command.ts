import { exportFormats } from '../../app/export/export-formats.js';
import { usageError } from '../../core/errors.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLake } from '../options/command-settings.js';

export const exportCommand: CommandDefinition = {
  name: 'export',
  positional: { name: 'FORMAT', many: true, about: exportFormats.join(' or '), choices: exportFormats },
  about: 'Write Iceberg metadata of the tables',
  more:
    'Writes metadata of Apache Iceberg (version 2) of every table to LAKE/_iceberg/TABLE, over the same data files: nothing\n' +
    'is copied. A table that has not changed since the last export is left alone. The setting `export` has each run do it at\n' +
    'its end. A lake without a retention deletes replaced files at once.',
  options: { ...shared('lake', 'config', 'json') },
  examples: [['export iceberg', 'for engines that read Iceberg']],
  run: async (given, context) => {
    const [named, ...others] = given.all('FORMAT');
    const format = exportFormats.find((known) => known === named);
    if (format === undefined || others.length > 0) {
      const got = JSON.stringify(given.all('FORMAT').join(' '));
      throw usageError(`expected \`export ${exportFormats.join('` or `export ')}\`, got ${got}`);
    }
    const { exportCommand: run } = await import('../../app/export/export-command.js');
    await run({ lake: await readLake(given), format }, context);
    return 0;
  },
};
