import { whole } from '../../app/configuration/settings.js';
import { backfillCommand, readSource } from './backfill-command.js';
import { metricsOptions, sharedOptions, type CommandDefinition } from '../options/command-definition.js';
import { readSettings } from '../options/command-settings.js';

const { orders } = backfillCommand.options;

export const syncCommand: CommandDefinition = {
  name: 'sync',
  positional: { name: 'PIPELINE', many: true, about: 'What to load [default: the first three]' },
  about: 'Load what is new, and look back for what arrived late',
  more: [
    'Loads from the newest loaded instant to now, less five minutes; an empty lake gets the last 90 days. It reads',
    'the last 2 days again on each run, the last 14 once a week, the last 35 once a month, and settlements that are open or',
    'have closed since. event_history keeps what changed.',
  ].join('\n'),
  options: {
    lake: sharedOptions.lake,
    account: sharedOptions.account,
    endpoint: sharedOptions.endpoint,
    'look-back': { type: 'text', about: 'Read this many days again, whatever the schedule says' },
    'max-lag': { type: 'text', about: 'Exit with 1 if the lake is older than this after the run: 90m, 2h, 1d' },
    'accept-empty': { type: 'flag', about: 'Take it that what held events comes back without any' },
    ...(orders && { orders }),
    rate: sharedOptions.rate,
    burst: sharedOptions.burst,
    journal: sharedOptions.journal,
    pipelines: sharedOptions.pipelines,
    config: sharedOptions.config,
    ...metricsOptions,
    json: sharedOptions.json,
  },
  examples: [
    ['sync', 'the nightly run'],
    ['sync --look-back 60', 'read the last 60 days again'],
  ],
  run: async (given, context) => {
    const lookBack = given.text('look-back');
    const source = given.text('orders');
    const settings = await readSettings(given);
    const options = {
      pipelines: given.all('PIPELINE'),
      ...settings,
      rules: settings.lookBack,
      lookBack: lookBack === undefined ? undefined : whole('--look-back', lookBack, 0),
      maxLag: given.text('max-lag'),
      acceptEmpty: given.flag('accept-empty'),
      orders: source === undefined ? undefined : await readSource(source),
      json: given.flag('json'),
    };
    const { sync } = await import('../../app/load/sync.js');
    await sync(options, context);
    return 0;
  },
};
