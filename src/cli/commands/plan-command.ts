import { formats } from '../../core/text/formats.js';
import { backfillOptions, backfillPositional, readBackfill } from './backfill-command.js';
import { readingContext, readFormat, type CommandDefinition } from '../options/command-definition.js';

export const planCommand: CommandDefinition = {
  name: 'plan',
  positional: { ...backfillPositional, about: 'What would be loaded' },
  about: 'Estimate what a backfill would do',
  more: [
    'Estimates what a backfill with the same options would do: slices, requests, time under the quota, bytes and files, and',
    'what the lake holds already. The estimate comes from the lake; no request is sent and nothing changes.',
  ].join('\n'),
  options: {
    ...backfillOptions,
    probe: { type: 'flag', about: "Ask the service for a page or two where the lake can't tell" },
    format: { type: 'text', default: 'table', choices: formats, about: 'Output format' },
  },
  examples: [
    ['plan --from 2025-01-01 --to 2026-01-01', 'how long a year would take'],
    ['plan --probe --format json', 'for a program, on an empty lake'],
  ],
  run: async (given, context) => {
    const { plan } = await import('../../app/plan/plan.js');
    const options = { ...(await readBackfill(given)), probe: given.flag('probe'), format: readFormat(given) };
    await plan(options, readingContext(context));
    return 0;
  },
};
