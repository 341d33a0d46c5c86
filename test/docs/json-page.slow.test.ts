import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';

/** Every name of a member that an object has, those of objects by pipeline or table left out. */
function fieldsOf(object: Readonly<Record<string, unknown>>): string[] {
  const { pipelines = {} } = object as { pipelines?: Readonly<Record<string, object>> };
  return [...Object.keys(object), ...Object.values(pipelines).flatMap((of) => Object.keys(of))];
}

test('docs/json.md has every field that the commands print, and no other', async () => {
  const folder = await temporaryFolder();
  const page = await readFile('docs/json.md', 'utf8');
  const names = page.match(/^\| `.*?\|/gm)?.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const printed = new Set(['error', 'left_open']);
  await writeFile(join(folder, 'pages.ndjson'), 'no page\n');
  // A sync goes on from here to now.
  const range = ['--from', new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)];
  for (const words of [
    ['backfill', ...range],
    ['backfill', '--refresh', ...range],
    ['sync'],
    ['import', '--account', 'demo', 'pages.ndjson'],
    ['compact'],
    ['rebuild'],
    ['forget', '--account', 'demo', '--yes'],
  ]) {
    const { out } = await builtCommand([...words, '--json', '--quiet'], { folder });
    for (const field of fieldsOf(JSON.parse(out) as Readonly<Record<string, unknown>>)) printed.add(field);
  }
  expect(await readdir(join(folder, 'data'))).toEqual(['lake']);
  expect([...new Set(names)].toSorted()).toEqual([...printed].toSorted());
});
