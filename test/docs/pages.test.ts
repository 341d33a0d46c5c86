import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { configurationJsonSchema } from '../../src/app/configuration/configuration.js';
import { optionsPage } from './options-page.js';
import { pages } from './pages.js';
import { questionsPage } from './questions-page.js';
import { withSettings } from './settings-table.js';
import { tablesPage } from './tables-page.js';

/** What has named properties, in a JSON Schema. */
const keyed = z.object({ properties: z.record(z.string(), z.unknown()) });

/** As `prettier --check` wants it. */
async function formatted(page: string): Promise<string> {
  return format(page, { ...(await resolveConfig('docs/tables.md')), parser: 'markdown' });
}

describe('pages that are generated from the code', () => {
  test('tables and columns', async () => {
    await expect(await formatted(tablesPage())).toMatchFileSnapshot('../../docs/tables.md');
  });

  test('commands and options', async () => {
    await expect(await formatted(await optionsPage())).toMatchFileSnapshot('../../docs/options.md');
  });

  test('settings', async () => {
    const page = withSettings(await readFile('docs/configuration.md', 'utf8'));
    await expect(await formatted(page)).toMatchFileSnapshot('../../docs/configuration.md');
  });

  test('questions', async () => {
    await expect(await formatted(questionsPage())).toMatchFileSnapshot('../../docs/questions.md');
  });
});

describe('pages that are written by hand', () => {
  test('the glossary is found under that word', async () => {
    expect(await readFile('docs/concepts.md', 'utf8')).toMatch(/^# .*glossary/);
    for (const page of ['README.md', 'docs/README.md']) {
      expect(await readFile(page, 'utf8')).toMatch(/glossary.*concepts\.md|concepts\.md.*glossary/);
    }
  });

  test('errors: every code, with its exit code', async () => {
    const source = await readFile('src/core/errors.ts', 'utf8');
    const inCode = [...source.matchAll(/^ {2}([A-Z_]+): \{ exit: (\d)/gm)].map(([, code, exit]) => `${code} ${exit}`);
    const page = await readFile('docs/errors.md', 'utf8');
    const onPage = [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d) /gm)].map(([, code, exit]) => `${code} ${exit}`);
    expect(inCode.length).toBeGreaterThan(15);
    expect(onPage.toSorted()).toEqual(inCode.toSorted());
  });

  test('configuration: every setting, and all that an account has', async () => {
    const schema = z
      .object({ properties: z.object({ settings: keyed, accounts: z.object({ additionalProperties: keyed }) }) })
      .parse(configurationJsonSchema()).properties;
    const page = await readFile('docs/configuration.md', 'utf8');
    const onPage = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
    const inCode = [schema.settings, schema.accounts.additionalProperties].flatMap(({ properties }) =>
      Object.keys(properties),
    );
    expect(inCode.length).toBeGreaterThan(15);
    expect(onPage).toEqual(inCode);
  });

  test.each(pages)('%s: what it links to is there', async (page) => {
    const text = await readFile(page, 'utf8');
    for (const [, target = '', heading] of text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
      const linked = await readFile(target === '' ? page : normalize(join(dirname(page), target)), 'utf8');
      if (heading !== undefined) expect(headingsOf(linked), `${page} links to ${target}`).toContain(heading);
    }
  });

  // A bar that isn't escaped parts a cell in two, in code as well.
  test.each(pages)('%s: the rows of a table have as many cells as its heading', async (page) => {
    const text = (await readFile(page, 'utf8')).replaceAll(/^```.*?^```/gms, '');
    for (const [table] of text.matchAll(/(?:^\|.*\n)+/gm)) {
      const rows = table.trimEnd().split('\n');
      const counts = new Set(rows.map((row) => row.replaceAll(String.raw`\|`, '').split('|').length));
      expect(counts.size, table).toBe(1);
    }
  });
});

test('ARCHITECTURE.md: the files and folders that it names are there', async () => {
  const text = await readFile('ARCHITECTURE.md', 'utf8');
  const folders = ['src', 'pipelines', 'test', 'bench', 'docs'];
  const listings = await Promise.all(folders.map((folder) => readdir(folder, { recursive: true })));
  const paths = folders.flatMap((folder, at) => [folder, ...(listings[at] ?? []).map((path) => join(folder, path))]);
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|md)|(?:src|pipelines|test|bench)\/[\w./-]*)`/g)].map(
    ([, name = '']) => name.replace(/\/$/, ''),
  );
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter((name) => !paths.some((path) => path === name || path.endsWith(`/${name}`)));
  expect(missing).toEqual([]);
});

test('ARCHITECTURE.md: the code that it names is there', async () => {
  const folders = ['src', 'pipelines', 'test'];
  const texts = folders.map(async (folder) => {
    const paths = (await readdir(folder, { recursive: true })).filter((path) => /\.(?:ts|sql)$/.test(path));
    return Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')));
  });
  const words = new Set((await Promise.all(texts)).flat().flatMap((text) => text.match(/\w+/g) ?? []));
  const page = await readFile('ARCHITECTURE.md', 'utf8');
  const named = [...page.matchAll(/`(\w+)(?:\.(\w+))?(?:\(…\))?`/g)].flatMap(([, ...names]) => names.filter(Boolean));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !words.has(name))).toEqual([]);
});

/** What the headings of a page are linked by. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
