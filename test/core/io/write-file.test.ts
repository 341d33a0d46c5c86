import { spawnSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  appendToFile,
  isTemporaryName,
  replaceFile,
  temporaryPath,
  writeNewFile,
} from '../../../src/core/io/write-file.js';
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

/** A folder with a file that nobody may change, and names that lead to it or wait for a reader. */
async function hostileFolder() {
  const folder = await temporaryFolder();
  const victim = join(await temporaryFolder(), 'victim');
  await writeFile(victim, 'untouched');
  const link = async (name: string) => {
    await symlink(victim, join(folder, name));
  };
  const fifo = (name: string) => {
    expect(spawnSync('mkfifo', [join(folder, name)]).status).toBe(0);
  };
  return { folder, link, fifo, untouched: async () => (await readFile(victim, 'utf8')) === 'untouched' };
}

test('a temporary name cannot be guessed: links and FIFOs that were laid for it are not used', async () => {
  const { folder, link, fifo, untouched } = await hostileFolder();
  const near = [process.pid, process.pid + 1, process.pid - 1];
  for (const pid of near) await link(`state.json.${pid}.part`);
  fifo(`metrics.prom.${process.pid}.part`);
  await replaceFile(join(folder, 'state.json'), 'new');
  await replaceFile(join(folder, 'metrics.prom'), 'new');
  expect(await untouched()).toBe(true);
  expect(await readFile(join(folder, 'state.json'), 'utf8')).toBe('new');
  expect(await readFile(join(folder, 'metrics.prom'), 'utf8')).toBe('new');
  const names = new Set(Array.from({ length: 1000 }, () => temporaryPath(join(folder, 'state.json'))));
  expect(names.size).toBe(1000);
  for (const name of names)
    expect([name, isTemporaryName(basename(name)), dirname(name)]).toEqual([name, true, folder]);
});

test('a link is replaced, not followed, and so is a FIFO', async () => {
  const { folder, link, fifo, untouched } = await hostileFolder();
  await link('a');
  fifo('b');
  for (const name of ['a', 'b']) {
    await replaceFile(join(folder, name), 'new');
    expect((await lstat(join(folder, name))).isFile()).toBe(true);
  }
  expect(await untouched()).toBe(true);
});

test('a new file takes no name that is there: a file, a link, a link to nothing, a FIFO, a folder', async () => {
  const { folder, link, fifo, untouched } = await hostileFolder();
  await writeFile(join(folder, 'file'), 'old');
  await link('link');
  await symlink(join(folder, 'nothing'), join(folder, 'dangling'));
  fifo('fifo');
  await mkdir(join(folder, 'folder'));
  for (const name of ['file', 'link', 'dangling', 'fifo', 'folder']) {
    const failure = writeNewFile(join(folder, name), 'new');
    await expect(failure).rejects.toMatchObject({ code: 'EEXIST' });
  }
  expect(await readFile(join(folder, 'file'), 'utf8')).toBe('old');
  expect(await untouched()).toBe(true);
  expect((await readdir(folder)).toSorted()).toEqual(['dangling', 'fifo', 'file', 'folder', 'link']);
});

test('a text is appended to a file, and to nothing that leads elsewhere or waits', async () => {
  const { folder, link, fifo, untouched } = await hostileFolder();
  await link('link');
  fifo('fifo');
  await expect(appendToFile(join(folder, 'link'), 'x')).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(appendToFile(join(folder, 'fifo'), 'x')).rejects.toThrow();
  await writeFile(join(folder, 'open-to-all'), 'a', { mode: 0o644 });
  await appendToFile(join(folder, 'open-to-all'), 'b');
  await appendToFile(join(folder, 'new'), 'c');
  expect(await readFile(join(folder, 'open-to-all'), 'utf8')).toBe('ab');
  expect((await stat(join(folder, 'open-to-all'))).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'new'))).mode & 0o777).toBe(0o600);
  expect(await untouched()).toBe(true);
});
