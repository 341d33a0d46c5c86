import { formats } from '../../core/text/formats.js';
import { readingContext, readFormat, sharedOptions, type CommandDefinition } from '../options/definition.js';
import { readLake } from '../options/settings.js';

export const verifyCommand: CommandDefinition = {
  name: 'verify',
  about: 'Prove the lake: files, counts, hashes, money, settlements',
  more:
    'Reads every file and holds it against the log, the entries against the events they came from, and the settlements\n' +
    'against their totals. Exit code 1 when anything is wrong with the lake; where upstream contradicts itself it is a\n' +
    'finding, which only --strict takes for wrong.',
  options: {
    lake: sharedOptions.lake,
    config: sharedOptions.config,
    account: { type: 'text', about: 'Whose part of the lake [default: all]' },
    strict: { type: 'flag', about: 'Exit with 1 for what upstream contradicts itself in, too' },
    format: { type: 'text', default: 'table', choices: formats, about: 'How the certificate is written' },
  },
  examples: [['verify --strict --format json', 'for a nightly job']],
  run: async (given, context) => {
    const options = {
      lake: await readLake(given),
      account: given.text('account'),
      strict: given.flag('strict'),
      format: readFormat(given),
    };
    const { verify } = await import('../../app/verify/verify.js');
    return verify(options, readingContext(context));
  },
};
