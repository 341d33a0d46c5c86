import { shared, type CommandDefinition, type CommandArguments } from '../options/command-definition.js';
import { readLakeSettings, readCustomPipelines, readThreads } from '../options/command-settings.js';

const positional = { name: 'PIPELINE', many: true, about: 'Pipelines whose tables to rewrite [default: all]' } as const;

const options = {
  ...shared('lake'),
  account: { about: 'Account [default: all]' },
  ...shared('config', 'json'),
} as const;

async function readOptions(args: CommandArguments) {
  return {
    ...(await readLakeSettings(args)),
    pipelines: args.positionals('PIPELINE'),
    account: args.text('account'),
    config: args.text('config'),
  };
}

export const compactCommand: CommandDefinition = {
  name: 'compact',
  notifies: true,
  positional,
  about: 'Merge small files, and compress loaded files further',
  description:
    'Merges the small files of each month into files of about 128 MB with the strongest compression, and recompresses\n' +
    'larger files that a run wrote. Readers see the old files or the new one, never both. It can be stopped at any time; a\n' +
    'second run changes nothing.',
  options,
  examples: [['compact financial-events', 'the events by date and their entries']],
  run: async (args, context) => {
    const { compact } = await import('../../app/maintenance/compact-lake.js');
    return compact(await readOptions(args), context);
  },
};

export const rebuildCommand: CommandDefinition = {
  name: 'rebuild',
  positional,
  about: 'Re-derive the entries from the stored bytes',
  description:
    'Re-derives the tables entries, group_entries and order_entries from the raw bytes of their events, without a\n' +
    'request. Files whose content stays the same are not replaced. With --pipelines it also re-derives the rows of custom\n' +
    'pipelines, such as columns that were added to a definition.',
  options: {
    ...options,
    ...shared('threads', 'pipelines'),
  },
  examples: [['rebuild', 'after an upgrade that derives more amounts']],
  run: async (args, context) => {
    const { rebuild } = await import('../../app/maintenance/rebuild-lake.js');
    const threads = readThreads(args);
    const customPipelines = await readCustomPipelines(args);
    return rebuild({ ...(await readOptions(args)), threads, customPipelines }, context);
  },
};
