import { program } from '../../app/command-text.js';
import { readDateRange } from '../../app/configuration/range.js';
import { usageError } from '../../core/errors.js';
import { readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { readFleetAccounts } from '../options/command-settings.js';

const actions = ['all', 'backfill', 'sync', 'nightly', 'status', 'retry'] as const;

export const enqueueCommand: CommandDefinition = {
  name: 'enqueue',
  positional: { name: 'ACTION', many: true, choices: actions, about: 'As above, and the accounts [default: all]' },
  about: 'Add accounts to the queue of a fleet, and manage the queue',
  description: [
    'Adds jobs for accounts to a queue in Redis or Valkey (REDIS_URL); `ledgerlake worker` runs them.',
    '',
    '  all       a backfill now, and a sync each night; run it again when accounts are added or removed [default]',
    '  backfill  a backfill of a date range, now',
    '  sync      a sync, now',
    '  nightly   a sync each night, spread over the time of --sync-at; accounts that were removed get none',
    '  status    shows which accounts are waiting, active, waiting for a retry, or dead letters, and why',
    '  retry     a new turn for dead letters',
  ].join('\n'),
  options: {
    ...shared('redis', 'fleet'),
    from: { about: 'Start of a backfill, ISO 8601 in UTC [default: 90 days before --to]' },
    to: { about: 'End of a backfill, exclusive [default: five minutes ago]' },
    'sync-at': { default: '01:00-05:00', about: 'Time of the nightly syncs: HH:MM-HH:MM in UTC, or never' },
    ...shared('config'),
    format: { default: 'table', choices: ['table', 'json'], about: 'Format of the status' },
  },
  examples: [
    ['enqueue', 'all configured accounts: a backfill of 90 days, and a sync each night'],
    ['enqueue backfill my-shop --from {730 days ago}', 'one account, two years'],
    ['enqueue status --format json', 'for a program that watches the fleet'],
    ['enqueue retry', 'all dead letters, once the cause is fixed'],
  ],
  run: async (args, context) => {
    const [action = 'all', ...named] = args.positionals('ACTION');
    const known = actions.find((name) => name === action);
    if (known === undefined) {
      throw usageError(
        `expected \`enqueue ${actions.join('`, `enqueue ')}\`, got \`enqueue ${action}\`; see ${program} enqueue --help`,
      );
    }
    const [{ readRedisAddress }, { readNight }, { enqueue }] = await Promise.all([
      import('../../app/fleet/redis.js'),
      import('../../app/fleet/nightly.js'),
      import('../../app/fleet/enqueue.js'),
    ]);
    const range = { from: args.text('from'), to: args.text('to') };
    if (known !== 'all' && known !== 'backfill' && (range.from ?? range.to) !== undefined) {
      throw usageError(`expected --from and --to with \`enqueue backfill\` only, got them with \`enqueue ${known}\``);
    }
    readDateRange(range, context.clock.now());
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
    return (await enqueue(options, readingContext(args, context))) ? 0 : 1;
  },
};
