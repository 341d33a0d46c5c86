import { isColoured } from '../../core/environment.js';
import { formats } from '../../core/text/formats.js';
import { readingContext, readFormat, shared, type CommandDefinition } from '../options/command-definition.js';
import { readConfigured, readStatePlace } from '../options/command-settings.js';

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
  run: async (given, context) => {
    const { status } = await import('../../app/status/status.js');
    const { lake, marginMinutes } = await readStatePlace(given);
    const options = {
      lake,
      account: given.text('account'),
      pipelineFolder: given.text('pipelines'),
      config: given.text('config'),
      ...(await readConfigured(given)),
      from: given.text('from'),
      to: given.text('to'),
      maxLag: given.text('max-lag'),
      marginMinutes,
      format: readFormat(given),
      color: isColoured(process.env, process.stdout.isTTY),
    };
    await status(options, readingContext(given, context));
    return 0;
  },
};
