import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { completePath } from '../../../src/core/io/files.js';
import { typedFile } from '../../../src/cli/sql-shell/tab-completion.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('names that begin as typed, folders with a slash, hidden ones only where they are asked for', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'fees'));
  for (const name of ['fees.csv', 'a file.csv', '.hidden']) await writeFile(join(folder, name), '');
  expect(await completePath(`${folder}/f`)).toEqual([`${folder}/fees.csv`, `${folder}/fees/`]);
  expect(await completePath(`${folder}/`)).toEqual(
    ['a file.csv', 'fees.csv', 'fees/'].map((name) => `${folder}/${name}`),
  );
  expect(await completePath(`${folder}/.h`)).toEqual([`${folder}/.hidden`]);
  expect(await completePath(`${folder}/nowhere/f`)).toEqual([]);
});

test.each([
  ['.output ', ''],
  ['.output a b', 'a b'],
  ['  .output out/f', 'out/f'],
  ['.output', undefined],
  ["SELECT '.output f", undefined],
])('a name is begun in %j', (text, begun) => {
  expect(typedFile(text)).toBe(begun);
});
