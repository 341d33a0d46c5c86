import { configurationFile, configuredNames } from '../../app/configuration/read-configuration.js';
import { demoAccount, regionNames } from '../../app/configuration/account.js';
import { variableOf } from '../../core/environment.js';
import { usageError } from '../../core/errors.js';
import type { CommandDefinition } from '../options/command-definition.js';

export const initCommand: CommandDefinition = {
  name: 'init',
  positional: {
    name: 'WHAT',
    many: true,
    about: 'pipeline NAME: write the definition of a custom pipeline instead',
    choices: ['pipeline'],
  },
  about: 'Write a first configuration, or add an account to it',
  description:
    'Writes ledgerlake.config.json with one account, whose secrets come from environment variables, and with a comment on\n' +
    'every setting. Where the file is there, it adds the account to it, and leaves all else as it is, comments too. On a\n' +
    'terminal it asks for the name and the region. `init pipeline NAME` writes a template of a custom pipeline,\n' +
    'PIPELINES/NAME.mjs.',
  options: {
    config: { default: configurationFile, about: 'File to write, or to add an account to' },
    account: { about: "The account's name [default: my-shop]" },
    region: { choices: regionNames, about: 'Region of the public endpoint [default: eu]' },
    pipelines: { default: 'pipelines', about: 'Folder for the definition of a custom pipeline' },
  },
  ignoresConfiguration: true,
  examples: [
    ['init --account my-shop --region na', 'without questions'],
    ['init --account my-other-shop', 'a second account, in the same file'],
    ['init pipeline shipments', "another API's records: pipelines/shipments.mjs"],
  ],
  run: async (args, context) => {
    const [what, name, ...others] = args.positionals('WHAT');
    if (what !== undefined) {
      if (what !== 'pipeline' || name === undefined || others.length > 0) {
        throw usageError(
          `expected nothing or pipeline NAME after init, got ${JSON.stringify(args.positionals('WHAT').join(' '))}`,
        );
      }
      const { initPipeline } = await import('../../app/accounts/pipeline-template.js');
      const config = args.text('config');
      const named = config === configurationFile ? undefined : config;
      const set = variableOf(process.env, 'LEDGERLAKE_ACCOUNT');
      const names = await configuredNames(named, process.env, process.cwd());
      // Custom pipelines don't load the synthetic seller.
      const account = [...(set === undefined ? [] : [set]), ...names].find((known) => known !== demoAccount);
      await initPipeline({ name, folder: args.required('pipelines'), account }, context);
      return 0;
    }
    const [{ init }, { askOnTerminal }] = await Promise.all([
      import('../../app/accounts/configuration-template.js'),
      import('../options/terminal.js'),
    ]);
    const prompt = process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal(context.signal) : undefined;
    try {
      const file = args.required('config');
      await init({ file, account: args.text('account'), region: args.text('region'), ask: prompt?.ask }, context);
    } finally {
      prompt?.close();
    }
    return 0;
  },
};
