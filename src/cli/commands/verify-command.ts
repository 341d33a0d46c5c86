import { formats } from '../../core/text/formats.js';
import { readingContext, readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readLake } from '../options/command-settings.js';

export const verifyCommand: CommandDefinition = {
  name: 'verify',
  about: 'Prove the lake: files, counts, hashes, money, settlements',
  description:
    'Compares every file with the log, the entries with the events they are derived from, and the settlements with their\n' +
    'totals. The exit code is 1 if anything is wrong with the lake. If the service contradicts itself, verify reports a\n' +
    'finding, which makes the exit code 1 only with --strict.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account to verify [default: all]' },
    strict: { isFlag: true, about: 'Exit with 1 also if the service contradicts itself' },
    format: { default: 'table', choices: formats, about: 'Format of the certificate' },
  },
  examples: [['verify --strict --format json', 'for a nightly job']],
  run: async (args, context) => {
    const options = {
      lake: await readLake(args),
      account: args.text('account'),
      config: args.text('config'),
      strict: args.flag('strict'),
      quiet: args.flag('quiet'),
      format: readFormat(args),
    };
    const { verify } = await import('../../app/verify/verify.js');
    // `--quiet` prints the problems of the lake only.
    return verify(options, { ...readingContext(args, context), output: process.stdout });
  },
};
