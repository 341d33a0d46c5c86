import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { listening } from '../listening.js';
import { deadMan } from './dead-man.js';

const from = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);

test('a backfill and a backup are posted, and a dry run is not', async () => {
  const folder = await temporaryFolder();
  const { environment, posted } = await deadMan();
  const run = { folder, environment };
  const backfill = ['backfill', '--from', from, '--json', '--quiet'];
  expect(await builtCommand([...backfill, '--dry-run'], run)).toMatchObject({ code: 0, err: '' });
  expect(posted).toEqual([]);
  const { code, out } = await builtCommand(backfill, run);
  expect(code).toBe(0);
  const backup = await builtCommand(['backup', join(folder, 'copy'), '--json', '--quiet'], run);
  expect(posted).toMatchObject([
    { command: 'backfill', status: 'done', exit_code: 0, runs: [JSON.parse(out)] },
    { command: 'backup', status: 'done', exit_code: 0, runs: [JSON.parse(backup.out)] },
  ]);
});

test('a night that succeeds, a verify that does, one that does not, and what else runs', async () => {
  const folder = await temporaryFolder();
  const { environment, posted, paths } = await deadMan();
  const run = { folder, environment };
  const sync = await builtCommand(['sync', '--from', from, '--json', '--quiet'], run);
  expect(sync).toMatchObject({ code: 0, err: '' });
  expect(posted).toHaveLength(1);
  expect(posted[0]).toMatchObject({ command: 'sync', status: 'done', exit_code: 0, runs: [JSON.parse(sync.out)] });
  expect(await builtCommand(['verify', '--quiet'], run)).toMatchObject({ code: 0, err: '' });
  expect(await builtCommand(['status', '--quiet'], run)).toMatchObject({ code: 0, err: '' });
  expect(posted.slice(1)).toMatchObject([
    { command: 'verify', status: 'done', exit_code: 0, runs: [{ status: 'done' }] },
  ]);
  const [file = ''] = (await readdir(join(folder, 'data/lake/events'), { recursive: true })).filter((name) =>
    name.endsWith('.parquet'),
  );
  await rm(join(folder, 'data/lake/events', file));
  expect(await builtCommand(['verify', '--quiet'], run)).toMatchObject({ code: 1 });
  const first = `file-bytes events/${file} the file is missing`;
  const broken = { status: 'failed', lake: 'data/lake', problems: 1, first_problem: first };
  expect(posted[2]).toMatchObject({ command: 'verify', exit_code: 1, runs: [broken] });
  expect(paths).toEqual(['/secret-path/0', '/secret-path/0', '/secret-path/1']);
});

test('a configuration that is wrong, where the environment has the address; one object for several accounts', async () => {
  const folder = await temporaryFolder();
  const { environment, posted, paths } = await deadMan();
  const file = join(folder, 'ledgerlake.config.json');
  await writeFile(file, '{"acounts":{}}');
  expect(await builtCommand(['sync'], { folder, environment })).toMatchObject({ code: 2 });
  const unreachable = { endpoint: 'http://127.0.0.1:1' };
  const settings = { notify: environment.LEDGERLAKE_NOTIFY };
  await writeFile(file, JSON.stringify({ settings, accounts: { one: unreachable, two: {} } }));
  const both = await builtCommand(['sync'], { folder });
  expect(both).toMatchObject({ code: 1 });
  expect(both.out + both.err).not.toContain('secret-path');
  expect(posted).toMatchObject([
    { command: 'sync', status: 'failed', exit_code: 2, error: { code: 'USAGE' }, runs: [] },
    {
      command: 'sync',
      status: 'failed',
      exit_code: 1,
      runs: [
        { account: 'one', status: 'failed', error: { code: 'UPSTREAM_UNREACHABLE' } },
        { account: 'two', status: 'failed', error: { code: 'USAGE' } },
      ],
    },
  ]);
  expect(paths).toEqual(['/secret-path/2', '/secret-path/1']);
});

test('an address that refuses is said also with --quiet, without the address; one that is invalid is not shown', async () => {
  const folder = await temporaryFolder();
  const { environment, posted } = await deadMan(410);
  const ended = await builtCommand(['compact', '--quiet'], { folder, environment });
  expect(ended.code).toBe(2);
  expect(posted).toHaveLength(1);
  expect(ended.err).toMatch(
    /USAGE.*\n.*was not posted to the address of notify: expected a status from 200 to 299, got 410/,
  );
  expect(ended.err).not.toContain('secret-path');
  const invalid = await builtCommand(['compact'], { folder, environment: { LEDGERLAKE_NOTIFY: 'http://host/secret' } });
  expect(invalid).toMatchObject({ code: 2 });
  expect(invalid.err).toMatch(
    /^ledgerlake: USAGE: expected LEDGERLAKE_NOTIFY to be an address that begins with https:\/\/ .*, got something else/,
  );
  await writeFile(join(folder, 'ledgerlake.config.json'), '{"settings":{"notify":"http://host/secret"}}');
  const configured = await builtCommand(['compact'], { folder });
  expect(configured.err).toMatch(
    /settings\.notify: expected an address that begins with https:\/\/ .*, got a text of 18 characters/,
  );
});

test('a night that a signal stops is posted before it ends', async () => {
  const folder = await temporaryFolder();
  const { environment, posted } = await deadMan();
  const asked = createServer();
  const endpoint = await listening(asked);
  const words = ['sync', '--account', 'shop', '--endpoint', endpoint, '--quiet'];
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: 'ignore',
  });
  await once(asked, 'request');
  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(1);
  expect(posted).toMatchObject([
    { command: 'sync', status: 'failed', exit_code: 1, runs: [{ account: 'shop', error: { code: 'STOPPED' } }] },
  ]);
});
