import { isColoured } from '../../core/environment.js';
import { formats } from '../../core/text/formats.js';
import { readingContext, readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readConfigured, readLakeSettings } from '../options/command-settings.js';

export const statusCommand: CommandDefinition = {
  name: 'status',
  about: 'Show what the lake holds and what is missing',
  more: 'Reads the log alone, and shows which days are loaded, which settlements are open, which runs are at work or died, and the command that closes the gaps.',
  options: {
    ...shared('lake', 'config'),
    account: { type: 'text', about: 'Account to show [default: all]' },
    from: { type: 'text', about: 'First instant, ISO 8601 in UTC [default: the first one loaded]' },
    ...shared('pipelines'),
    to: { type: 'text', about: 'End, exclusive [default: now, less five minutes]' },
    'max-lag': { type: 'text', about: 'Exit with 1 if an account has nothing newer than this: 90m, 2h, 1d' },
    format: { type: 'text', default: 'table', choices: formats, about: 'Output format' },
  },
  examples: [
    ['status --format json', 'for a program that watches the lake'],
    ['status --quiet --max-lag 1d', 'for monitoring: the exit code says it'],
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
