import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const repairCommand: CommandDefinition = {
  name: 'repair',
  about: 'Repair a damaged lake',
  description:
    'Restores damaged or missing commits of the catalog from the published logs, and published logs from the catalog. It\n' +
    'takes damaged data files out, so that the next backfill loads their rows again, and derives damaged entries again.\n' +
    'It prints first what it would do, and which rows no run can get back: imports, and days beyond the two years that\n' +
    'the service keeps; readable rows of such files stay. Without --yes and a terminal it changes nothing and exits with\n' +
    '1. No other run may use the lake meanwhile.',
  options: shared('lake', 'config', 'yes', 'json'),
  examples: [
    ['repair', 'what is to be repaired, and what is lost'],
    ['repair --yes', 'if `verify` recommends it'],
  ],
  run: async (args, context) => {
    const { repair } = await import('../../app/repair/repair.js');
    const options = { ...(await readLakeSettings(args)), config: args.text('config'), yes: args.flag('yes') };
    return repair(options, context);
  },
};
