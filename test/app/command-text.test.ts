import { dateOrInstant } from '../../src/core/numeric/instant.js';
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandIn, loadCommand, programOf, withCommandsIn } from '../../src/app/command-text.js';
import { shellWord } from '../../src/core/text/shell-word.js';
import { temporaryFolder } from './lake-run.js';

const asked = {
  pipelines: ['group-events'],
  lake: 's3://bucket/lake',
  account: 'shop',
  endpoint: undefined,
  range: { start: Date.parse('2025-03-01T00:00:00Z'), end: Date.parse('2025-03-02T03:04:05Z') },
};

test('a command names what is missing', () => {
  expect(loadCommand('backfill', asked)).toBe(
    'ledgerlake backfill group-events --lake s3://bucket/lake --account shop --from 2025-03-01 --to 2025-03-02T03:04:05Z',
  );
  expect(loadCommand('backfill', { ...asked, pipelines: [], lake: "my lake's", endpoint: 'http://[::1]:8080' })).toBe(
    String.raw`ledgerlake backfill --lake 'my lake'\''s' --account shop --endpoint 'http://[::1]:8080' ` +
      '--from 2025-03-01 --to 2025-03-02T03:04:05Z',
  );
});

test('commands within a text get what they lack of the place where the user works', () => {
  const place = {
    lake: 'my lake',
    config: 'c.json',
    account: 'shop',
    endpoint: 'http://127.0.0.1:9',
    pipelines: 'own',
  };
  const here = "--lake 'my lake'";
  const load = `${here} --account shop --endpoint http://127.0.0.1:9 --pipelines own --config c.json`;
  expect(withCommandsIn(place, 'run `ledgerlake repair`, or `ledgerlake backfill --refresh`; no `verify`')).toBe(
    `run \`ledgerlake repair ${here} --config c.json\`, or \`ledgerlake backfill --refresh ${load}\`; no \`verify\``,
  );
  expect(commandIn({ lake: 'a', config: 'c' }, 'ledgerlake compact --lake b')).toBe(
    'ledgerlake compact --lake b --config c',
  );
  expect(commandIn({ lake: 'a' }, 'ledgerlake sync --account b --from 2025-01-01')).toBe(
    'ledgerlake sync --account b --from 2025-01-01 --lake a',
  );
  for (const command of ['ledgerlake accounts check', 'ledgerlake enqueue retry shop', 'mv -- a b']) {
    expect(commandIn(place, command)).toBe(command);
  }
  expect(withCommandsIn({}, '`ledgerlake verify`')).toBe('`ledgerlake verify`');
  expect(loadCommand('backfill', { ...asked, config: 'c.json' })).toContain(
    ' --account shop --config c.json --from 2025-03-01 ',
  );
});

test('commands are called by npx where that runs the program', () => {
  const run = (script: string) => programOf({ npm_command: 'exec', npm_lifecycle_script: script });
  expect([run("'ledgerlake'"), run('ledgerlake status')]).toEqual(['npx ledgerlake', 'npx ledgerlake']);
  expect([run('vitest run'), run('ledgerlaked'), programOf({}), programOf({ npm_command: 'run-script' })]).toEqual(
    ['', '', '', ''].map(() => 'ledgerlake'),
  );
});

test('and where it is started from node_modules/.bin, which is not on the PATH', async () => {
  const folder = join(await temporaryFolder(), 'node_modules/.bin');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'ledgerlake');
  await writeFile(file, '');
  expect(programOf({ PATH: '/nowhere' }, file)).toBe('npx ledgerlake');
  expect([programOf({ PATH: folder }, file), programOf({ PATH: '/nowhere' }, '/usr/bin/ledgerlake')]).toEqual(
    ['', ''].map(() => 'ledgerlake'),
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
      .map(dateOrInstant),
  ).toEqual(['2025-03-01', '2025-03-01T01:00:00Z', '2025-03-01T01:00:00.001Z']);
});
