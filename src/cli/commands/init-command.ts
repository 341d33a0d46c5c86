import { configurationFile } from '../../app/configuration/read-configuration.js';
import { regionNames } from '../../app/configuration/account.js';
import type { CommandDefinition } from '../options/command-definition.js';

export const initCommand: CommandDefinition = {
  name: 'init',
  about: 'Write a first configuration, with every setting explained',
  more:
    'Writes ledgerlake.config.json with one account, whose secrets come from environment variables, and comments on all that\n' +
    'can be set. On a terminal it asks for name and region. It never overwrites a file.',
  options: {
    config: { type: 'text', default: configurationFile, about: 'File to write' },
    account: { type: 'text', about: "The account's name [default: my-shop]" },
    region: { type: 'text', choices: regionNames, about: 'Which public endpoint serves it [default: eu]' },
  },
  passesConfiguration: true,
  examples: [['init --account my-shop --region na', 'asks nothing']],
  run: async (given, context) => {
    const [{ init }, { askOnTerminal }] = await Promise.all([
      import('../../app/accounts/configuration-template.js'),
      import('../options/terminal.js'),
    ]);
    const asked = process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal(context.signal) : undefined;
    try {
      const file = given.required('config');
      await init({ file, account: given.text('account'), region: given.text('region'), ask: asked?.ask }, context);
    } finally {
      asked?.close();
    }
    return 0;
  },
};
