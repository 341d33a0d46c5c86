import { expect, test } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';

test('a first run loads a synthetic seller, prints a summary and what to try next, and answers it', async () => {
  const folder = await temporaryFolder();
  const ran = await builtCommand(['backfill'], { folder });
  expect(ran.code).toBe(0);
  const told = /^\[demo [0-9a-f-]+\] loading the synthetic seller demo, whose data is not real; .*--endpoint/m;
  expect(ran.err).toMatch(told);
  const synced = await builtCommand(['sync', '--look-back', '0'], { folder });
  expect(synced.err).toMatch(told);
  const [next] = /^ {2}ledgerlake (sql .*)/m.exec(ran.out)?.slice(1) ?? [];
  const [, query = ''] = /"(.*)"/.exec(next ?? '') ?? [];
  const answered = await builtCommand(['sql', '--format', 'ndjson', query], { folder });
  expect(answered.code).toBe(0);
  expect(answered.out.trim().split('\n').length).toBeGreaterThan(10);
});
