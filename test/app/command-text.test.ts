import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backfillCommand, instantText, shellWord } from '../../src/app/command-text.js';

test('a command names what is missing', () => {
  const range = { start: Date.parse('2025-03-01T00:00:00Z'), end: Date.parse('2025-03-02T03:04:05Z') };
  const words = { pipelines: ['group-events'], lake: 's3://bucket/lake', account: 'shop', range, endpoint: undefined };
  expect(backfillCommand(words)).toBe(
    'ledgerlake backfill group-events --lake s3://bucket/lake --account shop --from 2025-03-01 --to 2025-03-02T03:04:05Z',
  );
  expect(backfillCommand({ ...words, pipelines: [], lake: "my lake's", endpoint: 'http://[::1]:8080' })).toBe(
    String.raw`ledgerlake backfill --lake 'my lake'\''s' --account shop --endpoint 'http://[::1]:8080' ` +
      '--from 2025-03-01 --to 2025-03-02T03:04:05Z',
  );
});

test('a shell takes every word as it is', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 }).map((word) => word.replaceAll('\0', '').toWellFormed());
  const words = fc.sample(fc.oneof(text, fc.string({ maxLength: 20 })), { numRuns: 300, seed: 7 });
  const all = [...words, '', '~', '=ls', '$(x)', '`x`', '!!', 'a b', "'", '"', '\\', '*', '#', '-n', '\n'];
  const printed = execFileSync('sh', [
    '-c',
    `for word in ${all.map(shellWord).join(' ')}; do printf '%s\\001' "$word"; done`,
  ]);
  expect(printed.toString()).toBe(all.map((word) => `${word}\u0001`).join(''));
});

test('an instant is as short as it may be', () => {
  expect(
    ['2025-03-01T00:00:00.000Z', '2025-03-01T01:00:00.000Z', '2025-03-01T01:00:00.001Z']
      .map(Date.parse)
      .map(instantText),
  ).toEqual(['2025-03-01', '2025-03-01T01:00:00Z', '2025-03-01T01:00:00.001Z']);
});
