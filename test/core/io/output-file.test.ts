import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOutputFile, writeFault } from '../../../src/core/io/output-file.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('a path that another would replace is an error of the user, and what the disk refuses is not', async () => {
  const folder = await temporaryFolder();
  const failure = (path: string) => writeFile(path, 'x').catch((error: unknown) => writeFault(path, error));
  expect(await failure(folder)).toMatchObject({ code: 'USAGE', exitCode: 2 });
  expect(await failure(join(folder, 'none', 'a'))).toMatchObject({ code: 'USAGE', exitCode: 2 });
  expect(await failure('/dev/full')).toMatchObject({ code: 'OUTPUT', exitCode: 1 });
});

test('a file that cannot get its name leaves none behind', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'out.csv');
  const file = await openOutputFile(path);
  file.stream.write('x');
  // The name is taken by a folder with something in it, which no rename replaces.
  await mkdir(path);
  await writeFile(join(path, 'in-it'), '');
  await expect(file.commit()).rejects.toMatchObject({ code: 'USAGE' });
  expect(await readdir(folder)).toEqual(['out.csv']);
});

test('an empty name is refused', async () => {
  await expect(openOutputFile('')).rejects.toMatchObject({ code: 'USAGE' });
});
