import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readConfiguration } from '../../../src/app/configuration/read-configuration.js';

vi.mock('node:fs/promises', async (original) => ({
  ...(await original<object>()),
  readFile: () => Promise.reject(Object.assign(new Error('permission denied'), { code: 'EACCES' })),
}));

test('a configuration that this user may not read is named with its path, and what to do', async () => {
  const path = join('/home/other', 'c.json');
  await expect(readConfiguration('c.json', {}, '/home/other')).rejects.toMatchObject({
    code: 'USAGE',
    message:
      `expected a configuration that can be read in c.json, which --config names, this user may not read ${path} (EACCES): ` +
      'run as its owner, or let this user read it and enter its folders',
  });
});
