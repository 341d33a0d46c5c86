import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { programCommand } from '../command-text.js';
import { refuseProgramsFolder } from '../../sources/custom/load-definitions.js';
import type { CommandContext } from '../context.js';
import { defaultLake } from '../configuration/settings.js';
import { createFile } from './configuration-template.js';

interface PipelineInit {
  readonly name: string;
  /** The folder of `--pipelines`. */
  readonly folder: string;
  /** The account in the printed commands; undefined: none is configured. */
  readonly account: string | undefined;
}

/**
 * `ledgerlake init pipeline NAME`: writes a template of a custom pipeline, and prints the next steps.
 *
 * @throws LedgerlakeError USAGE for an invalid name, for the folder of the built-in pipelines, and as `createFile`
 */
export async function initPipeline(
  { name, folder, account }: PipelineInit,
  { print }: Pick<CommandContext, 'print'>,
): Promise<void> {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(name)) {
    throw usageError(
      `expected a name of small letters, digits and - that begins with a letter, got ${JSON.stringify(name)}; rename the pipeline`,
    );
  }
  const file = join(folder, `${name}.mjs`);
  refuseProgramsFolder(folder, await readdir(folder).catch(() => []));
  await mkdir(folder, { recursive: true });
  await createFile(file, definitionTemplate(name), { option: '--pipelines' });
  const known = account ?? 'my-shop';
  // The lake of the synthetic seller takes no other account.
  const lake = account === undefined && existsSync(defaultLake) ? ['--lake', `data/${known}`] : [];
  const run = printable(programCommand(['backfill', name, '--pipelines', folder, '--account', known, ...lake]));
  print(
    [
      `Wrote ${printable(file)}. Next:`,
      '',
      '  1. adapt it: the requests, the path of the records, and their columns',
      `  2. set ${variablesOf(name).join(' and ')}`,
      `  3. ${run} --dry-run`,
      `  4. ${run}`,
      ...(account === undefined ? ['', 'No account is configured: my-shop stands for any name of the account.'] : []),
    ].join('\n'),
  );
}

/** The variables of the address and of the token. */
function variablesOf(name: string): readonly [string, string] {
  const prefix = name.toUpperCase().replaceAll('-', '_');
  return [`${prefix}_URL`, `${prefix}_TOKEN`];
}

/** A valid definition. */
function definitionTemplate(name: string): string {
  const [url, token] = variablesOf(name);
  return `// A custom pipeline: docs/pipelines.md of ledgerlake describes every field, with examples of other APIs.

/** @satisfies {import('ledgerlake').PipelineDefinition} */
export default {
  name: '${name}',
  about: 'records of the range',

  api: {
    // Or the address itself: 'https://api.example.com'.
    address: { env: '${url}' },
    // A token for each account: { env: '${token}', perAccount: true, before: 'Bearer ' }. OAuth: signIn.
    headers: { authorization: { env: '${token}', before: 'Bearer ' } },
    // Requests a second, and at once.
    quota: { rate: 2, burst: 5 },
    pageSize: 100,
  },

  // Days of the first windows. longestDays: what the API answers at most; latenessMinutes: until records can be found.
  windows: { days: 7 },

  // The first request of a window: from is included, to is not. A body would be posted as JSON.
  first: ({ from, to, pageSize }) => ({
    path: '/records',
    query: { from: from.toISOString(), to: to.toISOString(), limit: pageSize },
  }),
  // The request after a page; undefined after the last one.
  next: ({ body }) => {
    const cursor = body.at('next')?.text;
    return cursor === undefined ? undefined : { path: '/records', query: { cursor } };
  },

  records: ({ body }) => body.list('records'),
  // Values as they are: columns convert them, and read no number as a float.
  rows: (record) => ({
    id: record.at('id'),
    created_at: record.at('created_at'),
    amount: record.at('amount', 'value'),
    currency: record.at('amount', 'currency'),
  }),

  table: {
    name: '${name.replaceAll('-', '_')}',
    about: 'One row per record.',
    columns: {
      id: { type: 'varchar' },
      created_at: { type: 'timestamp' },
      amount: { type: 'decimal(18,2)', about: 'In major units, exact.' },
      currency: { type: 'varchar', about: 'ISO 4217 code of \`amount\`.' },
    },
    sort: ['created_at', 'id'],
  },
};
`;
}
