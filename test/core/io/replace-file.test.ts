import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replaceFile } from '../../../src/core/io/files.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('a file is replaced, and its permissions are those asked for', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'state.json');
  await replaceFile(path, 'old');
  await replaceFile(path, 'new', 0o600);
  expect(await readFile(path, 'utf8')).toBe('new');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['state.json']);
});

test('a failure leaves no other file behind', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'taken', 'inside'), { recursive: true });
  await expect(replaceFile(join(folder, 'taken'), 'text')).rejects.toThrow();
  expect(await readdir(folder)).toEqual(['taken']);
});
