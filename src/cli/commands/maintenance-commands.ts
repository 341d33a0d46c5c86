import { shared, type CommandDefinition, type CommandArguments } from '../options/command-definition.js';
import { confirmOnTerminal } from '../options/terminal.js';
import { readLakeSettings, readCustomPipelines, readThreads } from '../options/command-settings.js';

const positional = { name: 'PIPELINE', many: true, about: 'Whose tables [default: all]' } as const;

const options = {
  ...shared('lake'),
  account: { type: 'text', about: 'Account [default: all]' },
  ...shared('config', 'json'),
} as const;

async function readOptions(args: CommandArguments) {
  return {
    ...(await readLakeSettings(args)),
    pipelines: args.all('PIPELINE'),
    account: args.text('account'),
    config: args.text('config'),
  };
}

export const compactCommand: CommandDefinition = {
  name: 'compact',
  positional,
  about: 'Merge small files, and compress loaded files further',
  more:
    'Merges the small files of each month into files of about 128 MB with the strongest compression, and compresses larger\n' +
    'files that a run wrote. Readers see the old files or the new one, never both. It can be stopped at any time; a second\n' +
    'run changes nothing.',
  options: {
    ...options,
    'drop-damaged-history': {
      type: 'flag',
      about: 'Remove files of event_history that are missing or damaged: their rows are lost',
    },
  },
  examples: [
    ['compact financial-events', 'the events by date and their entries'],
    ['compact --drop-damaged-history', 'where `verify` says so, and no copy of the file is left'],
  ],
  run: async (args, context) => {
    const { compact } = await import('../../app/maintenance/compact-lake.js');
    await compact({ ...(await readOptions(args)), dropDamagedHistory: args.flag('drop-damaged-history') }, context);
    return 0;
  },
};

export const rebuildCommand: CommandDefinition = {
  name: 'rebuild',
  positional,
  about: 'Re-derive the entries from the stored bytes',
  more:
    'Re-derives the tables entries, group_entries and order_entries from the raw bytes of their events, without a\n' +
    'request. Files whose content stays the same are not replaced. With --pipelines it also re-derives the rows of custom\n' +
    'pipelines, such as columns that were added to a definition.\n' +
    'With --log it first writes the logs of tables anew that cannot be read, or those of the named pipelines, from the data\n' +
    'files. It deletes nothing: the old logs, and files that cannot count, are moved to LAKE/_set-aside. What cannot be\n' +
    'shown to be loaded is not loaded any more, and the command that loads it is printed. No other run may use the lake.',
  options: {
    ...options,
    ...shared('threads', 'pipelines'),
    log: {
      type: 'flag',
      about: 'Write the logs anew first: of tables whose log is damaged, or of the named pipelines',
    },
    yes: { type: 'flag', about: "With --log: don't ask; required without a terminal" },
  },
  examples: [
    ['rebuild', 'after a new version reads amounts that the old one did not'],
    ['rebuild --log', 'where a log is damaged, and there is no backup'],
  ],
  run: async (args, context) => {
    const { rebuild } = await import('../../app/maintenance/rebuild-lake.js');
    const log = args.flag('log') && {
      confirm: args.flag('yes') ? (true as const) : confirmOnTerminal(context.signal),
    };
    const threads = await readThreads(args);
    const customPipelines = await readCustomPipelines(args);
    await rebuild({ ...(await readOptions(args)), threads, customPipelines, ...(log !== false && { log }) }, context);
    return 0;
  },
};
