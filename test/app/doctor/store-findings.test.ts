import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { examineFolders } from '../../../src/app/doctor/store-findings.js';
import type { Finding } from '../../../src/app/doctor/findings.js';
import { temporaryFolder } from '../lake-run.js';

test('Each folder of a lake that the user may not write to is a fault, at any depth; what is below one is not looked at', async () => {
  const root = await temporaryFolder();
  const foreign = ['_catalog', '_runs', 'events/account=shop/month=2026-03', 'groups'].map((name) => join(root, name));
  for (const path of [...foreign, join(root, 'groups/account=shop'), join(root, 'entries')])
    await mkdir(path, { recursive: true });
  const found: Finding[] = [];
  const add = (finding: Finding): void => {
    found.push(finding);
  };
  await examineFolders(root, add);
  expect(found).toEqual([]);
  // The test may run as root, to whom everything is permitted.
  const permits: typeof access = (path, mode) =>
    foreign.some((folder) => String(path).startsWith(folder))
      ? Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }))
      : access(path, mode);
  await examineFolders(root, add, permits);
  const texts = found.map((finding) => `${finding.state} ${finding.found}`).toSorted();
  expect(texts.map((text) => text.replace(/: .*/, ''))).toEqual([
    'fault 1 more folder of the lake without permission',
    ...foreign.filter((path) => texts.some((text) => text.includes(path))).map((path) => `fault cannot write ${path}`),
  ]);
  expect(texts[1]).toContain('permission denied; give this user read and write access to it');
});
