import { expect, test } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { answering, expectHarmless, hostile } from './hostile-text.js';

const range = ['--from', '2025-01-01', '--to', '2025-01-10'];

test('what a service says when it refuses is quoted in one line that is not long', async () => {
  const folder = await temporaryFolder();
  for (const size of [1, 20_000]) {
    const message = hostile('refused ').repeat(size);
    const endpoint = await answering(() => ({
      status: 403,
      body: { errors: [{ code: hostile('code'), message, details: message }] },
    }));
    const ended = await builtCommand(['backfill', '--account', 'shop', '--endpoint', endpoint, ...range], { folder });
    expect(ended.code).toBe(1);
    expectHarmless(ended, 'refused');
    const lines = ended.err.split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(2500);
  }
});
