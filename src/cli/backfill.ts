import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { messageOf, usageError } from '../errors.js';
import { amount, whole } from '../options/numbers.js';
import { pipelines } from '../options/pipelines.js';
import { sharedOptions, type CommandDefinition } from './definition.js';

export const backfillCommand: CommandDefinition = {
  name: 'backfill',
  positional: { name: 'PIPELINE', many: true, about: 'What to load' },
  about: 'Load a date range into the lake',
  more: [
    'Loads what the lake lacks of a date range. No pipeline named: the first three.',
    '',
    ...pipelines.map(({ name, about }) => `  ${name.padEnd(24)} ${about}`),
  ].join('\n'),
  options: {
    lake: sharedOptions.lake,
    from: { type: 'text', about: 'First instant, ISO 8601 in UTC [default: 90 days before --to]' },
    to: { type: 'text', about: 'End, exclusive [default: now, less five minutes]' },
    account: { type: 'text', about: 'Whose events [default: demo, with the embedded service]' },
    endpoint: { type: 'text', about: "The service's base address [default: the embedded service]" },
    refresh: { type: 'flag', about: 'Read again what the lake holds of the range' },
    orders: { type: 'text', about: 'File with order ids, one a line; - for standard input' },
    rate: sharedOptions.rate,
    burst: sharedOptions.burst,
    json: sharedOptions.json,
  },
  examples: [
    ['backfill', 'a first run: 90 days of a made-up seller into data/lake'],
    ['backfill financial-events --from 2025-01-01 --to 2025-02-01', 'one pipeline, one month'],
  ],
  run: async (given, context) => {
    const orders = given.text('orders');
    const options = {
      pipelines: given.all('PIPELINE'),
      lake: given.required('lake'),
      from: given.text('from'),
      to: given.text('to'),
      account: given.text('account'),
      endpoint: given.text('endpoint'),
      refresh: given.flag('refresh'),
      rate: amount('--rate', given.required('rate')),
      burst: whole('--burst', given.required('burst'), 1),
      orders: orders === undefined ? undefined : await readSource(orders),
      json: given.flag('json'),
      verbose: given.flag('verbose'),
    };
    const { backfill } = await import('../commands/backfill.js');
    await backfill(options, context);
    return 0;
  },
};

/** A file of the user's, or standard input for `-`. */
async function readSource(path: string): Promise<{ text: string; source: string }> {
  if (path === '-') return { text: await text(process.stdin), source: 'standard input' };
  try {
    return { text: await readFile(path, 'utf8'), source: path };
  } catch (error) {
    throw usageError(`expected a file that can be read, got ${path} (${messageOf(error)})`);
  }
}
