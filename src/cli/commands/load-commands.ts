import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { usageError } from '../../core/errors.js';
import { openFault } from '../../core/io/files.js';
import {
  loadSettings,
  ofLoad,
  readingContext,
  shared,
  type CommandDefinition,
  type CommandArguments,
  readFormat,
} from '../options/command-definition.js';
import { readSettings } from '../options/command-settings.js';
import { readDateRange } from '../../app/configuration/range.js';
import type { Settings } from '../../app/configuration/settings.js';
import { numberForm, optionOf } from '../../core/text/value-forms.js';
import { readLoadOptions, type LoadCommand, type LoadValues } from '../../engine/run/load-options.js';

const backfillPositional = { name: 'PIPELINE', many: true, about: 'Pipelines to run' };

/** Options for the range, the source and the pace of a load. */
const backfillOptions = {
  ...shared('lake'),
  from: { about: 'Start of the range, ISO 8601 in UTC [default: 90 days before --to]' },
  ...shared('to'),
  account: {
    about: 'Account to load; repeat it to load several in turn [default: all configured accounts, else demo]',
  },
  ...shared('endpoint', 'api'),
  ...ofLoad('backfill', 'plan'),
  ...loadSettings,
  ...shared('config'),
} as const satisfies CommandDefinition['options'];

export const backfillCommand: CommandDefinition = {
  name: 'backfill',
  notifies: true,
  positional: backfillPositional,
  about: 'Load a date range into the lake',
  description: async () => {
    const { pipelines } = await import('../../../pipelines/all-pipelines.js');
    return [
      'Loads the parts of a date range that are not loaded yet. Without PIPELINE it runs those of --api: for v0 the first three.',
      '',
      ...pipelines.map(({ name, about }) => `  ${name.padEnd(24)} ${about}`),
      '',
      'and the custom pipelines of --pipelines, if named.',
    ].join('\n');
  },
  options: {
    ...backfillOptions,
    ...ofLoad('backfill'),
    ...shared('metrics-port', 'metrics-host', 'metrics-file', 'json'),
  },
  severalAccounts: 'in turn',
  examples: [
    ['backfill', 'a first run: 90 days of a synthetic seller into data/lake'],
    ['backfill financial-events --from {60 days ago} --to {30 days ago}', 'one pipeline, 30 days'],
  ],
  run: async (args, context) => {
    const options = await readBackfill('backfill', args, context.clock.now());
    if (options.dryRun === true) {
      const { plan } = await import('../../app/plan/plan.js');
      await plan(
        { ...options, format: 'table', json: args.flag('json'), showsFirstPages: true },
        readingContext(args, context),
      );
      return 0;
    }
    const { backfill } = await import('../../app/load/backfill.js');
    return backfill(options, context);
  },
};

/** Throws a USAGE error for an invalid option, variable, configuration or orders file. */
async function readBackfill(command: 'backfill' | 'plan', args: CommandArguments, now: number) {
  const to = args.text('to');
  const values = await readLoadValues(command, args);
  const check = ({ from, marginMinutes }: Settings) => readDateRange({ from, to, marginMinutes }, now);
  const sendsRequests = command === 'plan' ? values.probe === true : values.dryRun !== true;
  const settings = await readSettings(args, { sendsRequests, check });
  const explicit = { config: args.text('config'), endpoint: args.text('endpoint') };
  return { pipelines: args.positionals('PIPELINE'), ...settings, ...values, to, explicit };
}

/** Throws a USAGE error for an orders file that can't be read. */
async function readLoadValues(command: LoadCommand, args: CommandArguments): Promise<LoadValues> {
  const orders = await readOrdersFile(args.text('orders'));
  return readLoadOptions(command, (name) => (name === 'orders' ? orders : args.value(optionOf(name))));
}

/** The order ids of a file; `-`: of standard input. */
async function readOrdersFile(path: string | undefined): Promise<readonly string[] | undefined> {
  if (path === undefined) return undefined;
  const { readOrders } = await import('../../app/configuration/chosen-pipelines.js');
  if (path === '-') return readOrders(await text(process.stdin), 'standard input');
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw usageError(`expected a file that can be read, got ${path} (${openFault(error)})`);
  }
  return readOrders(content, path);
}

export const planCommand: CommandDefinition = {
  name: 'plan',
  positional: { ...backfillPositional, about: 'Pipelines to estimate' },
  about: 'Estimate what a backfill would do',
  description: [
    'Estimates a backfill with the same options: slices, requests, time under the quota, bytes, files, and how much is',
    'already loaded. It estimates from the lake, and with --probe also from a few requests, at most three for each',
    'pipeline, and more where the service refuses a window for its length; it does not probe custom pipelines. Without',
    '--probe it sends no request. It changes nothing.',
  ].join('\n'),
  options: {
    ...backfillOptions,
    account: {
      about: 'Account to estimate; repeat it to estimate several in turn [default: all configured accounts, else demo]',
    },
    ...ofLoad('plan'),
    ...shared('format'),
  },
  severalAccounts: 'in turn',
  examples: [
    ['plan --from {365 days ago}', 'how long a year would take'],
    ['plan --probe --format json', 'for a program, on an empty lake'],
  ],
  run: async (args, context) => {
    const { plan } = await import('../../app/plan/plan.js');
    const options = await readBackfill('plan', args, context.clock.now());
    await plan({ ...options, format: readFormat(args) }, readingContext(args, context));
    return 0;
  },
};

// More accounts side by side would need more memory than a small machine has.
const parallelForm = numberForm({ isWhole: true, least: 1, most: 16, expected: 'a whole number from 1 to 16' });
const usualParallel = 4;

/** The number of accounts to load side by side. Throws a USAGE error for one that is out of bounds. */
export function readParallel(args: CommandArguments): number {
  const text = args.text('parallel');
  return text === undefined ? usualParallel : parallelForm.read('--parallel', text);
}

export const syncCommand: CommandDefinition = {
  name: 'sync',
  notifies: true,
  positional: { name: 'PIPELINE', many: true, about: 'Pipelines to run [default: those of --api]' },
  about: 'Load what is new, and look back for what arrived late',
  description: [
    'Loads from the newest loaded instant until five minutes ago, and what is missing since --from or the setting `from`;',
    'without them, into an empty lake, the last 90 days. It also reads again the last 2 days on each run, the last 14 once',
    'a week, the last 35 once a month, and settlements that are open or have closed since they were read. event_history',
    'records what changed.',
  ].join('\n'),
  options: {
    ...shared('lake'),
    from: { about: 'Start of a first load, ISO 8601 in UTC [default: 90 days ago]' },
    account: {
      about: 'Account to load; repeat it to load several [default: all configured accounts, else demo]',
    },
    ...shared('endpoint', 'api', 'look-back'),
    ...ofLoad('sync'),
    ...loadSettings,
    ...shared('config'),
    parallel: {
      about: `Accounts to load side by side; with --metrics-port one after the other [default: ${usualParallel}]`,
    },
    ...shared('metrics-port', 'metrics-host', 'metrics-file', 'json'),
  },
  severalAccounts: 'in turn',
  examples: [
    ['sync', 'the nightly run'],
    ['sync --look-back 60', 'read the last 60 days again'],
    ['sync --parallel 8', 'all configured accounts, eight of them side by side'],
  ],
  run: async (args, context) => {
    const values = await readLoadValues('sync', args);
    readParallel(args);
    const { readMaxLag } = await import('../../app/load/freshness.js');
    const check = ({ from, marginMinutes }: Settings) => {
      readMaxLag(values.maxLag, marginMinutes);
      readDateRange({ from, to: undefined, marginMinutes }, context.clock.now());
    };
    const settings = await readSettings(args, { check });
    const options = { pipelines: args.positionals('PIPELINE'), ...settings, ...values };
    const { sync } = await import('../../app/load/sync.js');
    return sync(options, context);
  },
};
