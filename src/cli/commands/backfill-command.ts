import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { messageOf, usageError } from '../../core/errors.js';
import {
  metricsOptions,
  readingContext,
  sharedOptions,
  type CommandDefinition,
  type Given,
} from '../options/command-definition.js';
import { readSettings } from '../options/command-settings.js';

export const backfillPositional = { name: 'PIPELINE', many: true, about: 'What to load' };

/** Options that say what is loaded, from where and how fast. */
export const backfillOptions = {
  lake: sharedOptions.lake,
  from: { type: 'text', about: 'First instant, ISO 8601 in UTC [default: 90 days before --to]' },
  to: { type: 'text', about: 'End, exclusive [default: now, less five minutes]' },
  account: sharedOptions.account,
  endpoint: sharedOptions.endpoint,
  refresh: { type: 'flag', about: 'Read again what the lake holds already, and replace it' },
  orders: { type: 'text', about: 'File with order ids, one a line; - for standard input' },
  rate: sharedOptions.rate,
  burst: sharedOptions.burst,
  journal: sharedOptions.journal,
  pipelines: sharedOptions.pipelines,
  config: sharedOptions.config,
} as const satisfies CommandDefinition['options'];

export const backfillCommand: CommandDefinition = {
  name: 'backfill',
  positional: backfillPositional,
  about: 'Load a date range into the lake',
  more: async () => {
    const { pipelines } = await import('../../../pipelines/all-pipelines.js');
    return [
      'Loads what the lake lacks of a date range. Without a name it runs the first three pipelines.',
      '',
      ...pipelines.map(({ name, about }) => `  ${name.padEnd(24)} ${about}`),
      '',
      'and the custom pipelines of --pipelines, if named.',
    ].join('\n');
  },
  options: {
    ...backfillOptions,
    'accept-empty': { type: 'flag', about: 'Take it that what held events comes back without any' },
    'dry-run': { type: 'flag', about: 'Print what it would do, as ledgerlake plan does, and change nothing' },
    ...metricsOptions,
    json: sharedOptions.json,
  },
  examples: [
    ['backfill', 'a first run: 90 days of a made-up seller into data/lake'],
    ['backfill financial-events --from 2025-01-01 --to 2025-02-01', 'one pipeline, one month'],
  ],
  run: async (given, context) => {
    const json = given.flag('json');
    const options = await readBackfill(given);
    if (given.flag('dry-run')) {
      const { plan } = await import('../../app/plan/plan.js');
      await plan({ ...options, probe: false, format: 'table', json }, readingContext(context));
      return 0;
    }
    const { backfill } = await import('../../app/load/backfill.js');
    await backfill({ ...options, json, acceptEmpty: given.flag('accept-empty') }, context);
    return 0;
  },
};

/** Throws a USAGE error for what is wrong in the command line, the environment or a file of the user's */
export async function readBackfill(given: Given) {
  const orders = given.text('orders');
  return {
    pipelines: given.all('PIPELINE'),
    ...(await readSettings(given)),
    to: given.text('to'),
    refresh: given.flag('refresh'),
    orders: orders === undefined ? undefined : await readSource(orders),
  };
}

/** A file of the user's, or standard input for `-`. */
export async function readSource(path: string): Promise<{ text: string; source: string }> {
  if (path === '-') return { text: await text(process.stdin), source: 'standard input' };
  try {
    return { text: await readFile(path, 'utf8'), source: path };
  } catch (error) {
    throw usageError(`expected a file that can be read, got ${path} (${messageOf(error)})`);
  }
}
