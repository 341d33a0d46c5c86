import { hostname } from 'node:os';
import { wholeNumber } from '../../core/text/value-forms.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readFleetAccounts, readSettings } from '../options/command-settings.js';

export const workerCommand: CommandDefinition = {
  name: 'worker',
  about: 'Load accounts of a fleet until stopped, several at once',
  description: [
    'Takes accounts from a queue in Redis or Valkey (REDIS_URL), which `ledgerlake enqueue` fills, and loads each for a time',
    'slice. Any number of workers can share the queue; one worker at a time loads an account. On SIGTERM the worker ends its',
    'time slices, and returns the remaining work to the queue.',
  ].join('\n'),
  options: {
    ...shared('redis', 'fleet'),
    concurrency: { default: '16', about: 'Accounts to load at once' },
    turn: { default: '1m', about: 'Minimum length of a time slice while other accounts wait' },
    grace: { default: '25s', about: 'How long time slices may continue after SIGTERM' },
    'stalled-after': { default: '30s', about: 'How long a silent worker keeps its accounts' },
    ...shared('lake', 'rate', 'burst', 'journal', 'config', 'metrics-port', 'metrics-host'),
  },
  examples: [['worker --concurrency 8 --lake s3://finance/lake', 'eight accounts at once, on a small machine']],
  run: async (args, { extendGrace, notify, ...context }) => {
    const [{ readRedisAddress }, { readDuration }, { runWorker }] = await Promise.all([
      import('../../app/fleet/redis.js'),
      import('../../app/load/freshness.js'),
      import('../../app/fleet/worker.js'),
    ]);
    const duration = (name: string): number => readDuration(`--${name}`, args.required(name));
    const graceMs = duration('grace');
    const options = {
      redis: readRedisAddress(args.text('redis'), process.env),
      fleet: args.required('fleet'),
      concurrency: wholeNumber('--concurrency', args.required('concurrency'), 1),
      turnMs: duration('turn'),
      graceMs,
      // Timers renew the locks, and are late by up to a second on a busy machine.
      lockMs: Math.max(1000, duration('stalled-after')),
      name: `${hostname()}-${process.pid}`,
      accounts: () => readFleetAccounts(args),
      settingsOf: (account: string) => readSettings(args, { account, takesEndpoint: false }),
      notify,
    };
    // An invalid configuration is reported at once instead of as the reason of dead letters.
    await options.accounts();
    extendGrace(graceMs);
    await runWorker(options, context);
    return 0;
  },
};
