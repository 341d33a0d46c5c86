import { program } from '../../app/command-text.js';
import { usageError } from '../../core/errors.js';
import { readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { readFleetAccounts } from '../options/command-settings.js';

const actions = ['all', 'backfill', 'sync', 'nightly', 'status', 'retry'] as const;

export const enqueueCommand: CommandDefinition = {
  name: 'enqueue',
  positional: { name: 'ACTION', many: true, choices: actions, about: 'As above, and which accounts [default: all]' },
  about: 'Ask a fleet of workers to load accounts, and look after its queue',
  more: [
    'Asks for accounts through a queue in Redis or Valkey (REDIS_URL); `ledgerlake worker` does the work.',
    '',
    '  all       a backfill now, and a sync each night; run it again when accounts are added or removed [default]',
    '  backfill  what the lake lacks of a date range, now',
    '  sync      what is new, now',
    '  nightly   a sync each night, spread over the time of --sync-at; accounts that are gone get none any more',
    '  status    which accounts wait, are at work, wait for another try, or are dead letters, and why',
    '  retry     dead letters get another turn',
  ].join('\n'),
  options: {
    ...shared('redis', 'fleet'),
    from: { type: 'text', about: 'First instant of a backfill, ISO 8601 in UTC [default: 90 days before --to]' },
    to: { type: 'text', about: 'End of a backfill, exclusive [default: now, less five minutes]' },
    'sync-at': {
      type: 'text',
      default: '01:00-05:00',
      about: 'When nightly syncs begin, HH:MM-HH:MM in UTC, or never',
    },
    ...shared('config'),
    format: { type: 'text', default: 'table', choices: ['table', 'json'], about: 'How the status is written' },
  },
  examples: [
    ['enqueue', 'all configured accounts: what the lake lacks of 90 days, and a sync each night'],
    ['enqueue backfill my-shop --from 2024-01-01', 'one account, two years'],
    ['enqueue status --format json', 'for a program that watches the fleet'],
    ['enqueue retry', 'all dead letters, once what was wrong is mended'],
  ],
  run: async (args, context) => {
    const [action = 'all', ...named] = args.all('ACTION');
    const known = actions.find((name) => name === action);
    if (known === undefined) {
      throw usageError(
        `expected \`enqueue ${actions.join('`, `enqueue ')}\`, got \`enqueue ${action}\`; see ${program} enqueue --help`,
      );
    }
    const [{ readRedisAddress }, { readNight }, { enqueue }, { readRange }] = await Promise.all([
      import('../../app/fleet/redis.js'),
      import('../../app/fleet/nightly.js'),
      import('../../app/fleet/enqueue.js'),
      import('../../app/configuration/range.js'),
    ]);
    const range = { from: args.text('from'), to: args.text('to') };
    if (known !== 'all' && known !== 'backfill' && (range.from ?? range.to) !== undefined) {
      throw usageError(
        `expected --from and --to beside \`enqueue backfill\` only, got them beside \`enqueue ${known}\``,
      );
    }
    readRange(range, context.clock.now());
    const options = {
      redis: readRedisAddress(args.text('redis'), process.env),
      fleet: args.required('fleet'),
      action: known,
      named,
      accounts: await readFleetAccounts(args),
      ...range,
      night: readNight(args.required('sync-at')),
      format: args.required('format') === 'json' ? ('json' as const) : ('table' as const),
    };
    return (await enqueue(options, { ...readingContext(args, context), emit: context.emit })) ? 0 : 1;
  },
};
