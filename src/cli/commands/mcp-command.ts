import { optionalPackage } from '../../core/optional-package.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';
import { accountsSeen, seenAccounts } from '../options/query-options.js';

export const mcpCommand: CommandDefinition = {
  name: 'mcp',
  about: 'Let an assistant query the lake (Model Context Protocol)',
  description:
    'Serves the lake to a client of the Model Context Protocol over standard input and output, until the input ends:\n' +
    'tools for read-only SQL, tables, views, status, verify and differences of an order or a settlement; the glossary and\n' +
    'what each view says as resources. A query reads nothing but the lake, writes nothing and reaches no network. The log\n' +
    'goes to standard error. It needs the optional package @modelcontextprotocol/sdk.',
  options: {
    ...shared('lake', 'config'),
    ...seenAccounts,
    ...shared('cache', 'time-zone', 'chart', 'costs'),
  },
  severalAccounts: 'at once',
  examples: [
    ['mcp --lake /data/lake', 'what a client is configured to run'],
    ['mcp --lake s3://my-bucket/lake --account my-shop', 'one account of a lake on S3'],
  ],
  run: async (args, { clock, signal, emit }) => {
    const { serveMcp } = await optionalPackage(
      '@modelcontextprotocol/sdk',
      '`mcp`',
      () => import('../../app/mcp/server.js'),
    );
    const settings = await readLakeSettings(args);
    const served = {
      ...settings,
      config: args.text('config'),
      accounts: accountsSeen(args),
    };
    await serveMcp(served, { clock, signal, emit }, { input: process.stdin, output: process.stdout });
    return 0;
  },
};
