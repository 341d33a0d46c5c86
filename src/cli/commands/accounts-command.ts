import { usageError } from '../../core/errors.js';
import { nearestName } from '../../core/text/fault-line.js';
import { readingContext, shared, type CommandDefinition } from '../options/command-definition.js';
import { configurationOf } from '../options/command-settings.js';

export const accountsCommand: CommandDefinition = {
  name: 'accounts',
  positional: {
    name: 'ACTION',
    many: true,
    choices: ['check'],
    about: '`check`, and the accounts to check [default: all]',
  },
  about: 'List the configured accounts, or check that they can sign in',
  description:
    'Lists the accounts of ledgerlake.config.json and the environment, and which of their credentials are set, never the\n' +
    'values. `accounts check` signs in each account, sends one small request, and reports what to check. The exit code is 1\n' +
    'if an account fails, 2 if one is misconfigured.',
  options: {
    account: { about: 'Account to list or check [default: all]' },
    ...shared('config'),
    format: { default: 'table', choices: ['table', 'json'], about: 'Output format' },
  },
  examples: [
    ['accounts', 'all accounts'],
    ['accounts check my-shop', 'whether my-shop can sign in and be read'],
  ],
  run: async (args, context) => {
    const [action, ...named] = args.positionals('ACTION');
    const accounts = [...named, ...args.repeated('account')];
    if (action !== undefined && action !== 'check') {
      const near = nearestName(action, ['check', 'list']);
      const meant = near === 'list' ? 'accounts' : `accounts ${near ?? `check ${action}`}`;
      throw usageError(
        `expected \`accounts\` or \`accounts check\`, got \`accounts ${action}\`; did you mean \`${meant}\`?`,
      );
    }
    const config = await configurationOf(args);
    const format = args.required('format') === 'json' ? 'json' : 'table';
    const { accounts: list, checkAccounts } = await import('../../app/accounts/accounts.js');
    const options = { config, environment: process.env, accounts, format } as const;
    const reading = readingContext(args, context);
    if (action === 'check') return checkAccounts({ ...options, verbose: args.flag('verbose') }, reading);
    await list(options, reading);
    return 0;
  },
};
