import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { readConfiguration } from '../../src/app/configuration/read-configuration.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../app/lake-run.js';
import { pages } from './pages.js';

const texts = await Promise.all(pages.map(async (page) => ({ page, text: await readFile(page, 'utf8') })));

/** Code blocks of a language, of all pages. */
function blocks(language: string): { page: string; code: string }[] {
  const fence = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs');
  return texts.flatMap(({ page, text }) => [...text.matchAll(fence)].map(([, code = '']) => ({ page, code })));
}

test('every query runs, and those of the README, docs/queries.md and docs/commands.md give rows', async () => {
  // Like the lake of a first run, which is loaded after any instant that a page could name, and has a transfer that failed.
  const clock = clockAt('2026-03-10T02:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop' };
  await ran(run, { clock });
  await ran({ ...run, pipelines: ['settlement-reports'] }, { clock });
  const duckdb = await database(lake, clock);
  const queries = blocks('sql').flatMap(({ page, code }) =>
    code.split(/;\s*$/m).flatMap((statement) => (statement.trim() === '' ? [] : [{ page, code: statement }])),
  );
  expect(queries.length).toBeGreaterThan(9);
  for (const { page, code } of queries) {
    const rows = await duckdb.rows(code);
    if (['README.md', 'docs/queries.md', 'docs/commands.md'].includes(page)) {
      expect(rows.length, code).toBeGreaterThan(0);
    }
    if (!code.includes("'total'")) continue;
    const millionths = rows.map(({ line, amount }) => ({ line, amount: BigInt(String(amount).replace('.', '')) }));
    const total = millionths.find(({ line }) => line === 'total')?.amount;
    const others = millionths.filter(({ line }) => line !== 'total');
    expect(others.length).toBeGreaterThan(3);
    expect(others.reduce((sum, { amount }) => sum + amount, 0n)).toBe(total);
  }
});

describe('command lines name commands and options that there are', () => {
  const known = new Map(commands.map(({ name, options }) => [name, new Set(Object.keys(options))]));
  const everywhere = new Set(['verbose', 'quiet', 'log-format', 'help', 'version']);
  // As a person would type them; a name in running text has no option behind it.
  const line = /\bledgerlake ([a-z]+)((?: [^\n`|&>]+)?)/g;

  test.each(texts.filter(({ text }) => text.includes('ledgerlake ')))('$page', ({ text }) => {
    for (const [whole, command = '', rest = ''] of text.matchAll(line)) {
      const options = [...rest.matchAll(/(?<=\s)--([a-z-]+)/g)].map(([, option = '']) => option);
      if (options.length === 0 && !known.has(command)) continue;
      expect(known.has(command), whole).toBe(true);
      for (const option of options) {
        expect(known.get(command)?.has(option) === true || everywhere.has(option), `${whole}: --${option}`).toBe(true);
      }
    }
  });
});

test('configurations are taken as they stand', async () => {
  const configurations = blocks('json').filter(({ code }) => code.includes('"accounts"'));
  expect(configurations.length).toBeGreaterThan(1);
  const folder = await temporaryFolder();
  for (const { code } of configurations) {
    const file = join(folder, 'ledgerlake.config.json');
    await writeFile(file, code);
    const configuration = await readConfiguration(file, {}, folder);
    expect(configuration).toBeDefined();
  }
});
