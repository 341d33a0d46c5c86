import { isColoured } from '../../core/environment.js';
import { readingContext, readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readConfigured, readLakeSettings } from '../options/command-settings.js';

export const statusCommand: CommandDefinition = {
  name: 'status',
  about: 'Show what the lake holds and what is missing',
  description:
    'Shows which days are loaded, which settlements are open, which runs are active or have died, and the command that\n' +
    'loads the gaps. It reads only the catalog.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account to show [default: all]' },
    from: { about: 'Start of the range, ISO 8601 in UTC [default: the first loaded or configured instant]' },
    ...shared('pipelines', 'to'),
    'max-lag': { about: 'Exit with 1 if an account has nothing newer than this: 90m, 2h, 1d' },
    ...shared('format'),
  },
  examples: [
    ['status --format json', 'for a program that watches the lake'],
    ['status --quiet --max-lag 1d', 'for monitoring, by the exit code'],
  ],
  run: async (args, context) => {
    const { status } = await import('../../app/status/status.js');
    const { lake, marginMinutes } = await readLakeSettings(args);
    const options = {
      lake,
      account: args.text('account'),
      pipelineFolder: args.text('pipelines'),
      config: args.text('config'),
      ...(await readConfigured(args)),
      from: args.text('from'),
      to: args.text('to'),
      maxLag: args.text('max-lag'),
      marginMinutes,
      format: readFormat(args),
      color: isColoured(process.env, process.stdout.isTTY),
    };
    await status(options, readingContext(args, context));
    return 0;
  },
};
