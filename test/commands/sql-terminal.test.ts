import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSeller } from '../../src/seller/seller.js';
import { clockAt, ran, serving, temporaryFolder } from './lake-run.js';

/** `script` of util-linux gives a child a terminal. Where it isn't there, these tests are skipped, and say so. */
const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
const hasTerminal = script.status === 0 && script.stdout.includes('util-linux');

interface Terminal {
  type(keys: string): void;
  /** Waits until what is shown from now on matches. */
  shows(pattern: RegExp): Promise<string>;
  ended(): Promise<number | null>;
}

/** The built command on a terminal of its own. */
function onTerminal(words: readonly string[], environment: Readonly<Record<string, string>>): Terminal {
  const line = [process.execPath, resolve('dist/src/cli.js'), ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 200; exec ${line}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const closed = once(child, 'close');
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return {
    type: (keys) => {
      shown = '';
      child.stdin.write(keys);
    },
    shows: async (pattern) => {
      const end = Date.now() + 20_000;
      while (!pattern.test(shown)) {
        if (Date.now() > end || child.exitCode !== null)
          throw new Error(`expected ${pattern}, got ${JSON.stringify(shown)}`);
        await new Promise((resume) => setTimeout(resume, 20));
      }
      return shown;
    },
    ended: async () => {
      await closed;
      return child.exitCode;
    },
  };
}

const tab = '\t';
const up = '\x1b[A';
const ctrlC = '\x03';
const ctrlD = '\x04';
const ready = /ledgerlake> (\x1b\[\d+G)?$/;

describe.runIf(hasTerminal)('the shell on a terminal', () => {
  test('completes, cancels, writes files, keeps what is typed, and leaves', async () => {
    const folder = await temporaryFolder();
    const clock = clockAt('2026-03-15T12:00:00Z');
    const endpoint = await serving({ ledger: createSeller({ seed: 5, events: 300 }, clock), clock });
    const lake = join(folder, 'lake');
    await ran({ lake, endpoint, account: 'shop', pipelines: ['financial-events'] }, { clock });
    const environment = { HOME: folder, XDG_STATE_HOME: join(folder, 'state') };
    const history = join(folder, 'state/ledgerlake/sql_history');

    const first = onTerminal(['sql', '--lake', lake, '--format', 'csv'], environment);
    await first.shows(ready);
    first.type(`SELECT count(*) > 99 AS many FROM entr${tab}`);
    await first.shows(/entries/);
    first.type(`;\r`);
    await first.shows(/many\s+true\s/);

    first.type('SELEC;\r');
    await first.shows(/Parser Error/);

    first.type('SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b;\r');
    await first.shows(/;[\r\n]+$/);
    // Into the query, and not in front of it.
    await new Promise((resume) => setTimeout(resume, 500));
    first.type(ctrlC);
    await first.shows(/The statement was cancelled\./);

    first.type('SELECT\r');
    await first.shows(/\.\.\.> /);
    first.type(`half a statement${ctrlC}`);
    await first.shows(/\^C\s.*ledgerlake> /s);

    const file = join(folder, 'out.ndjson');
    first.type(`.output ${file}\r.format ndjson\rSELECT 1 AS x;\rSELECT error('no') AS x;\r`);
    await first.shows(/Invalid Input Error: no/);
    first.type('SELECT 2 AS x;\r.output\r');
    await first.shows(/wrote .*out\.ndjson/);
    expect(await readFile(file, 'utf8')).toBe('{"x":1}\n{"x":2}\n');

    first.type(ctrlD);
    expect(await first.ended()).toBe(0);
    const typed = await readFile(history, 'utf8');
    expect(typed).toContain('SELECT count(*) > 99 AS many FROM entries;\nSELEC;\n');
    expect(typed).not.toContain('half a statement');
    expect((await stat(history)).mode & 0o777).toBe(0o600);

    const second = onTerminal(['sql', '--lake', lake, '--format', 'csv'], environment);
    await second.shows(ready);
    second.type(up + up);
    await second.shows(/SELECT 2 AS x;/);
    second.type('\r');
    await second.shows(/x\s+2\s/);
    second.type(ctrlC);
    expect(await second.ended()).toBe(0);
  }, 120_000);
});
