import { usageError } from '../../core/errors.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLake } from '../options/command-settings.js';

export const exportCommand: CommandDefinition = {
  name: 'export',
  positional: { name: 'FORMAT', many: true, about: 'iceberg', choices: ['iceberg'] },
  about: 'Write Iceberg metadata of the tables',
  more:
    'Writes metadata of Apache Iceberg (version 2) of every table to LAKE/_iceberg/TABLE, over the same data files: nothing\n' +
    'is copied. A table that has not changed since the last export is left alone. Run it after each run: a lake without a\n' +
    'retention deletes replaced files at once.',
  options: { ...shared('lake', 'config', 'json') },
  examples: [['export iceberg', 'for engines that read Iceberg']],
  run: async (given, context) => {
    const formats = given.all('FORMAT');
    if (formats.length !== 1 || formats[0] !== 'iceberg') {
      throw usageError(`expected \`export iceberg\`, got ${JSON.stringify(formats.join(' '))}`);
    }
    const { exportCommand: run } = await import('../../app/export/export-iceberg.js');
    await run({ lake: await readLake(given) }, context);
    return 0;
  },
};
