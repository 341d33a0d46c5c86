import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../app/lake-run.js';

const hasMake = spawnSync('make', ['--version']).status === 0;

/** A checkout with its packages installed, and an npm that only says that it was called. */
async function checkout(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'node_modules/vitest'), { recursive: true });
  await mkdir(join(folder, 'bin'));
  for (const file of ['Makefile', 'package.json', 'package-lock.json']) await copyFile(file, join(folder, file));
  await copyFile('node_modules/.package-lock.json', join(folder, 'node_modules/.package-lock.json'));
  await writeFile(join(folder, 'bin/npm'), '#!/bin/sh\necho called >> npm-calls\n');
  await chmod(join(folder, 'bin/npm'), 0o755);
  return folder;
}

async function install(folder: string): Promise<{ readonly status: number | null; readonly out: string }> {
  // Older than the lock file, as after a change of branches: a file system's clock may move in steps of 10 ms.
  await utimes(join(folder, 'node_modules/.package-lock.json'), 1, 1);
  const path = `${join(resolve(folder), 'bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const { status, stdout } = spawnSync('make', ['--no-print-directory', 'install'], {
    cwd: folder,
    env: { ...process.env, PATH: path, MAKEFLAGS: '' },
    encoding: 'utf8',
  });
  return { status, out: stdout };
}

test.skipIf(!hasMake)('make installs nothing where the packages are those of the lock file', async () => {
  const folder = await checkout();
  // Some versions of make say that there is nothing to do.
  expect(await install(folder)).toEqual({ status: 0, out: expect.not.stringContaining('Installing') as string });
  await expect(readFile(join(folder, 'npm-calls'))).rejects.toThrow('ENOENT');
});

test.skipIf(!hasMake)('make installs the packages where one has another version, or is missing', async () => {
  const folder = await checkout();
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, object> };
  for (const changed of [
    { 'node_modules/zod': { version: '0.0.1' } },
    { 'node_modules/new': { version: '1.0.0', dev: true } },
  ]) {
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages: { ...lock.packages, ...changed } }));
    expect(await install(folder)).toMatchObject({ status: 0, out: expect.stringContaining('Installing') as string });
  }
  expect(await readFile(join(folder, 'npm-calls'), 'utf8')).toBe('called\ncalled\n');
});
