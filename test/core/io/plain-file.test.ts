import { spawnSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readPlainFile } from '../../../src/core/io/files.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('a plain file is read; a link, a FIFO, a socket, a device, a folder or nothing is no such file, at once', async () => {
  const folder = await temporaryFolder();
  const at = (name: string): string => join(folder, name);
  await writeFile(at('file'), 'text');
  await symlink(at('file'), at('link'));
  await mkdir(at('folder'));
  spawnSync('mkfifo', [at('fifo')]);
  const server = createServer().listen(at('socket'));
  onTestFinished(() => {
    server.close();
  });
  expect(String(await readPlainFile(at('file')))).toBe('text');
  for (const path of [at('link'), at('folder'), at('fifo'), at('socket'), '/dev/zero', at('nothing'), at('file/x')])
    expect([path, await readPlainFile(path)]).toEqual([path, undefined]);
});
