import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolders } from '../../../src/core/io/files.js';
import { temporaryFolder } from '../../app/lake-run.js';

describe('makeFolders', () => {
  test('makes what is missing, and names the first of it', async () => {
    const folder = await temporaryFolder();
    expect(await makeFolders(join(folder, 'a', 'b', 'c'), 0o700)).toBe(join(folder, 'a'));
    expect((await stat(join(folder, 'a', 'b', 'c'))).mode & 0o777).toBe(0o700);
    expect(await makeFolders(join(folder, 'a', 'b'))).toBeUndefined();
  });

  test('lets several make the same at once', async () => {
    const folder = join(await temporaryFolder(), 'a', 'b');
    await Promise.all(Array.from({ length: 20 }, () => makeFolders(folder)));
    expect((await stat(folder)).isDirectory()).toBe(true);
  });

  test('says what is in the way', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    await symlink(join(folder, 'nowhere'), join(folder, 'link'));
    await mkdir(join(folder, 'to'));
    await symlink(join(folder, 'to'), join(folder, 'alias'));
    await expect(makeFolders(join(folder, 'file'))).rejects.toThrow('EEXIST');
    await expect(makeFolders(join(folder, 'file', 'a'))).rejects.toThrow('ENOTDIR');
    await expect(makeFolders(join(folder, 'file', 'a', 'b'))).rejects.toThrow('ENOTDIR');
    await expect(makeFolders(join(folder, 'link', 'a'))).rejects.toThrow('ENOENT');
    expect(await makeFolders(join(folder, 'alias', 'a'))).toBe(join(folder, 'alias', 'a'));
  });

  test.skipIf(!existsSync('/proc/self'))('ends where a folder takes no new ones and says ENOENT', async () => {
    await expect(makeFolders('/proc/nope')).rejects.toThrow('ENOENT');
    await expect(makeFolders('/proc/nope/a/b')).rejects.toThrow('ENOENT');
  });
});
