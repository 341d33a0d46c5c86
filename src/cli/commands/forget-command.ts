import { usageError } from '../../core/errors.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

export const forgetCommand: CommandDefinition = {
  name: 'forget',
  about: "Remove an account's data for good",
  description:
    'Removes rows, raw bytes, replaced files and their entries in the logs. With --before it removes only what is older.\n' +
    'Those days stay marked as loaded, so that no run requests them again. No other run may use the lake meanwhile.',
  options: {
    ...shared('lake', 'config'),
    account: { about: 'Account whose data to remove' },
    ...shared('journal'),
    before: { about: 'Remove only what is older: ISO 8601 date or instant in UTC [default: remove everything]' },
    ...shared('yes', 'json'),
  },
  examples: [['forget --account my-shop --before {730 days ago} --yes', 'what is older than two years']],
  run: async (args, context) => {
    const account = args.text('account');
    if (account === undefined) throw usageError('expected --account, got none; name the account whose data to remove');
    const options = {
      ...(await readLakeSettings(args)),
      account,
      before: args.text('before'),
      yes: args.flag('yes'),
    };
    const { forget } = await import('../../app/forget/forget.js');
    return forget(options, context);
  },
};
