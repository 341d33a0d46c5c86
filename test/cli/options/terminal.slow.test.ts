import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';

const load = ['backfill', 'financial-events', '--from', '2025-01-01', '--to', '2025-01-03'];

/** Runs the built command line in a shell, in a folder of its own. */
async function inShell(line: string, folder: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn('bash', ['-c', line, 'bash', process.execPath, resolve('dist/src/cli.js'), ...load], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

async function isWhole(folder: string): Promise<boolean> {
  const { code, out } = await builtCommand(['verify', '--format', 'json'], { folder });
  return code === 0 && out.includes('"verdict": "whole"');
}

test.each([
  ['nobody reads log and output any more', '"$@" 2>&1 | head -n 1; exit ${PIPESTATUS[0]}'],
  ['nobody reads the output', '"$@" --json 2>/dev/null | true; exit ${PIPESTATUS[0]}'],
  ['both are closed', '"$@" >&- 2>&-'],
  ['the log of programs is read no more', '"$@" --log-format json 2>&1 | head -n 1; exit ${PIPESTATUS[0]}'],
  ['the log is on a full disk', '"$@" 2>/dev/full'],
])('a run comes to its end where %s', async (_what, line) => {
  const folder = await temporaryFolder();
  const { code, out, err } = await inShell(line, folder);
  expect([code, err]).toEqual([0, '']);
  expect(out).not.toContain('    at ');
  expect(await isWhole(folder)).toBe(true);
});

test('an output on a full disk is one line and exit code 1, and what was committed stays', async () => {
  const folder = await temporaryFolder();
  for (const words of [load, ['status'], ['sql', 'SELECT 1'], ['--help'], ['--version'], ['completion', 'bash']]) {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    let err = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    await once(child, 'close');
    expect([words[0], child.exitCode]).toEqual([words[0], 1]);
    expect(err).toMatch(
      /^ledgerlake: OUTPUT: expected an output that accepts data, got ENOSPC.*; write it elsewhere\n$/m,
    );
    expect(err).not.toContain('\n    at ');
  }
  expect(await isWhole(folder)).toBe(true);
});

test('a terminal that is closed stops a run in good order', async () => {
  const folder = await temporaryFolder();
  const child = spawn(
    process.execPath,
    [resolve('dist/src/cli.js'), 'backfill', '--from', '2025-01-01', '--to', '2025-03-01'],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let err = '';
  let isClosed = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    if (!isClosed && text.includes('to load')) isClosed = child.kill('SIGHUP');
  });
  await once(child, 'close');
  expect([child.exitCode, child.signalCode]).toEqual([1, null]);
  expect(err).toContain('ledgerlake: STOPPED: stopped by SIGHUP; what was committed stays');
});
