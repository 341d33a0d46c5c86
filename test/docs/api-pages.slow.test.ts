import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'vitest';

test('npm run docs:api makes pages of everything that the package exports, all of it documented', async () => {
  await promisify(execFile)(process.execPath, ['node_modules/typedoc/bin/typedoc', '--emit', 'none']);
});
