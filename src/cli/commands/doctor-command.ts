import { isColoured } from '../../core/environment.js';
import { readFormat, readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { settingSources } from '../options/command-settings.js';

export const doctorCommand: CommandDefinition = {
  name: 'doctor',
  about: 'Examine all that a night needs, and say what mends it',
  description:
    'Examines configuration, credentials, clock, store, disk, lake and versions. It signs each account in and sends one small\n' +
    'request for each operation that its pipelines use, within the quota. It changes nothing. The exit code is 1 if something\n' +
    'must be done.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account to examine [default: all]' },
    ...shared('endpoint', 'api', 'pipelines'),
    'max-lag': { about: 'Age of data that is a fault: 90m, 2h, 1d [default: 2d]; given, a missing lake is one, too' },
    ...shared('format', 'json'),
  },
  // An invalid one is a finding.
  ignoresConfiguration: true,
  examples: [
    ['doctor', 'before the first night, and when one has failed'],
    ['doctor --json', 'for a program'],
  ],
  run: async (args, context) => {
    const { doctor } = await import('../../app/doctor/doctor.js');
    const options = {
      ...settingSources(args),
      account: args.text('account'),
      format: args.flag('json') ? 'json' : readFormat(args),
      color: isColoured(process.env, process.stdout.isTTY),
    } as const;
    return doctor(options, readingContext(args, context));
  },
};
