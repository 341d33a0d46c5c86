import { isColoured } from '../../core/environment.js';
import { formats } from '../../core/text/formats.js';
import { readingContext, readFormat, sharedOptions, type CommandDefinition } from '../options/definition.js';
import { readLake } from '../options/settings.js';

export const statusCommand: CommandDefinition = {
  name: 'status',
  about: 'Tell what the lake holds and what it lacks',
  more: 'Tells from the log alone which days are loaded, which settlements are open, and the one command that closes the gaps.',
  options: {
    lake: sharedOptions.lake,
    config: sharedOptions.config,
    account: { type: 'text', about: 'Whose part of the lake [default: all]' },
    from: { type: 'text', about: 'First instant, ISO 8601 in UTC [default: the first one loaded]' },
    pipelines: sharedOptions.pipelines,
    to: { type: 'text', about: 'End, exclusive [default: now, less five minutes]' },
    format: { type: 'text', default: 'table', choices: formats, about: 'How it is written' },
  },
  examples: [['status --format json', 'for a program that watches the lake']],
  run: async (given, context) => {
    const { status } = await import('../../app/status/status.js');
    const options = {
      lake: await readLake(given),
      account: given.text('account'),
      pipelineFolder: given.text('pipelines'),
      from: given.text('from'),
      to: given.text('to'),
      format: readFormat(given),
      color: isColoured(process.env, process.stdout.isTTY),
    };
    await status(options, readingContext(context));
    return 0;
  },
};
