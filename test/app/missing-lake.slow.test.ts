import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { existingLake } from '../../src/lake/existing-lake.js';
import { everyHash } from './maintenance/kept-lake.js';
import { builtCommand } from './built-command.js';
import { temporaryFolder } from './lake-run.js';

/** A folder with what a slip of the hand may name: nothing, a file, a folder of other things, one of a lake's; and an empty lake. */
async function places(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'others', 'photos'), { recursive: true });
  await mkdir(join(folder, 'empty'));
  await writeFile(join(folder, 'others', 'photos', 'one.jpg'), 'none of ours');
  await writeFile(join(folder, 'file'), 'none of ours');
  for (const name of ['one', 'lost']) {
    const month = join(folder, name, 'lake', 'events', 'account=shop', 'month=2026-03');
    await mkdir(month, { recursive: true });
    await writeFile(join(month, '20260301T000000Z-20260308T000000Z-0-0123456789abcdef-0.parquet'), '');
  }
  const log = join(folder, 'one', 'lake', '_catalog');
  await mkdir(log);
  await writeFile(join(log, '00000000000000000000.json'), '');
  return folder;
}

test.each([
  [['status']],
  [['verify']],
  [['sql', 'SELECT count(*) AS n FROM events']],
  [['compact']],
  [['rebuild']],
  [['repair', '--yes']],
  [['export', 'iceberg']],
  [['report', '-o', '-']],
  [['serve', '--port', '0']],
  [['forget', '--account', 'shop']],
])('%j needs a lake that is there', async (words) => {
  const folder = await places();
  const before = await everyHash(folder);
  const refused = async (lake: string, found: string): Promise<void> => {
    const { code, out, err } = await builtCommand([...words, '--lake', lake], { folder });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(`ledgerlake: USAGE: expected a lake at ${lake}, ${found}\n`);
  };
  const account = words[0] === 'forget' ? ' --account shop' : '';
  const load = `\`ledgerlake backfill --lake missing${account}\``;
  await Promise.all([
    refused('missing', `got none; check --lake and whether its disk is mounted, or load one with ${load}`),
    refused('file', 'got a file; name another with --lake'),
    refused('others', 'got something else; name another with --lake'),
    refused('one', 'got something else; did you mean --lake one/lake?'),
    refused('one/lake/events', 'got the folder of a table; did you mean --lake one/lake?'),
    refused('lost/lake/events/', 'got the folder of a table; did you mean --lake lost/lake?'),
  ]);
  const empty = await builtCommand([...words, '--lake', 'empty'], { folder });
  expect(empty.code).toBe(['forget', 'serve', 'verify'].includes(words[0] ?? '') ? 2 : 0);
  expect(empty.err).not.toContain('expected a lake at');
  expect(await everyHash(folder)).toEqual(before);
});

test.each([
  [['backfill', 'financial-events', '--from', '2026-03-01', '--to', '2026-03-08']],
  [['sync']],
  [['plan']],
  [['import', 'file', '--account', 'shop']],
])('%j loads nothing into the folder of a table', async (words) => {
  const folder = await places();
  const before = await everyHash(folder);
  const { code, err } = await builtCommand([...words, '--lake', 'one/lake/events'], { folder });
  expect({ code, err }).toEqual({
    code: 2,
    err: 'ledgerlake: USAGE: expected a lake at one/lake/events, got the folder of a table; did you mean --lake one/lake?\n',
  });
  expect(await everyHash(folder)).toEqual(before);
});

test.each([
  ['.', '..'],
  ['../events', '..'],
])('the lake of a table that is named %j is %j', async (lake, meant) => {
  const folder = join(await places(), 'one', 'lake', 'events');
  const { err } = await builtCommand(['status', '--lake', lake], { folder });
  expect(err).toContain(`did you mean --lake ${meant}?`);
});

describe('a place without a log', () => {
  test('is a lake where a run has begun', async () => {
    const folder = await places();
    const lake = join(folder, 'others');
    const open = () => existingLake({ lake }, tables, { clock: systemClock });
    await expect(open()).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    await mkdir(join(lake, '_runs'));
    await expect(open()).rejects.toMatchObject({ code: 'USAGE' });
    await writeFile(join(lake, '_runs', 'lease.json'), '{}');
    expect((await open()).snapshot.accounts()).toEqual(new Set());
  });

  test('is found out without a look at all that is there', async () => {
    const folder = await places();
    const many = Array.from({ length: 1100 }, (_, at) => writeFile(join(folder, 'others', `${at}.txt`), ''));
    await Promise.all(many);
    // Behind the others by name.
    await mkdir(join(folder, 'others', 'zz'));
    await expect(existingLake({ lake: join(folder, 'others') }, tables, { clock: systemClock })).rejects.toThrow(
      'got something else',
    );
  });
});
