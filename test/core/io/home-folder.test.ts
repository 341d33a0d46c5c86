import { chmod, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeFolder, temporaryCache } from '../../../src/core/io/home-folder.js';
import { historyPath } from '../../../src/cli/sql-shell/history-file.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('a user whom passwd does not have has no home folder, and no history', () => {
  const missing = (): string => {
    throw Object.assign(new Error('uv_os_homedir returned ENOENT'), { code: 'ERR_SYSTEM_ERROR' });
  };
  expect(homeFolder(() => '/home/me')).toBe('/home/me');
  expect(homeFolder(missing)).toBeUndefined();
  expect(historyPath({}, homeFolder(missing) ?? '')).toBe('');
  expect(historyPath({ XDG_STATE_HOME: '/state' }, '')).toBe('/state/ledgerlake/sql_history');
});

test('the temporary cache is of this user alone', async () => {
  const root = await temporaryFolder();
  const folder = temporaryCache(root);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(temporaryCache(root)).toBe(folder);
  await chmod(folder, 0o777);
  expect(() => temporaryCache(root)).toThrow(/to be a folder of this user alone, got one that others/);
  // Somebody else was there first.
  expect(() => temporaryCache(root, (process.getuid?.() ?? 0) + 1)).toThrow(/of this user alone/);
});

test('a link in its place is refused', async () => {
  const root = await temporaryFolder();
  const uid = process.getuid?.() ?? 0;
  await symlink(await temporaryFolder(), join(root, `ledgerlake-cache-${uid}`));
  expect(() => temporaryCache(root)).toThrow(/of this user alone/);
});
