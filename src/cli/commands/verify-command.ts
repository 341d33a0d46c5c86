import { formats } from '../../core/text/formats.js';
import { readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const verifyCommand: CommandDefinition = {
  name: 'verify',
  notifies: true,
  about: 'Prove the lake: files, counts, hashes, money, settlements',
  description:
    'Compares every commit with the one before it, the published logs and every file with the catalog, the entries with\n' +
    'the events they are derived from, and the settlements with their totals. The exit code is 1 if anything is wrong\n' +
    'with the lake. If the service contradicts itself, verify reports a finding, which makes the exit code 1 only with\n' +
    '--strict.\n' +
    'Whoever keeps the line `Catalog: VERSION:HASH` can prove later what the lake held: --expect ends with 1 if the lake\n' +
    'lacks that version, or anything up to it was changed.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account to verify [default: all]' },
    strict: {
      isFlag: true,
      about: 'Exit with 1 also if the service contradicts itself, or requested days are missing',
    },
    expect: { about: 'VERSION:HASH of an earlier `status` or `verify`: prove that nothing up to it was changed' },
    format: { default: 'table', choices: formats, about: 'Format of the certificate' },
  },
  examples: [
    ['verify --strict --format json', 'for a nightly job'],
    ['verify --expect 42:HASH', 'by a line of an earlier certificate'],
  ],
  run: async (args, context) => {
    const options = {
      lake: (await readLakeSettings(args)).lake,
      account: args.text('account'),
      config: args.text('config'),
      expect: args.text('expect'),
      strict: args.flag('strict'),
      quiet: args.flag('quiet'),
      format: readFormat(args),
    };
    const { verify } = await import('../../app/verify/verify.js');
    // `--quiet` prints the problems of the lake only.
    return verify(options, { ...context, output: process.stdout });
  },
};
