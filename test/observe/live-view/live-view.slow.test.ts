import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { serving, temporaryFolder } from '../../app/lake-run.js';

/** util-linux's `script` gives a command a terminal; where it is missing these tests are left out. */
const hasTerminal = String(spawnSync('script', ['--version']).stdout).includes('util-linux');
if (!hasTerminal) console.warn("no `script` of util-linux here: the live view isn't tried on a terminal");

interface OnTerminal {
  readonly code: number | null;
  /** Everything that was written to the terminal. */
  readonly text: string;
}

/** Runs the built command on a terminal of its own, 70 cells wide; `keys` are typed once the view shows a bar. */
async function onTerminal(words: string, environment: Record<string, string>, keys: readonly string[]) {
  const command = `stty cols 70 rows 20; exec ${process.execPath} ${resolve('dist/src/cli.js')} ${words}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh', ...environment },
    stdio: 'pipe',
  });
  let text = '';
  let typed = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const [key] = keys.slice(typed);
    const isUnderWay = typed === 0 ? text.includes('█') : text.includes('stopping:');
    if (key === undefined || !isUnderWay) return;
    typed++;
    child.stdin.write(key);
  });
  await once(child, 'close');
  return { code: child.exitCode, text } satisfies OnTerminal;
}

/** A backfill of some seconds, for the terminal; where its lake is. */
async function words(more = ''): Promise<string> {
  const backend = createSeller({ seed: 4, events: 2000, profile: 'edge-cases' }, systemClock);
  const quota = { rate: 8, burst: 4 };
  const url = await serving({ backend, clock: systemClock, quota, faults: { throttled: { share: 0.1 } } });
  const lake = join(await temporaryFolder(), 'lake');
  return `backfill financial-events --endpoint ${url} --account shop --lake ${lake} --rate 8 --burst 4 ${more}`;
}

const ctrlC = '\u0003';
const hidden = '\u001b[?25l';
const shown = '\u001b[?25h';

function expectClean({ text }: OnTerminal): void {
  expect(text).toContain(hidden);
  expect(text.lastIndexOf(shown)).toBeGreaterThan(text.lastIndexOf(hidden));
  // What was drawn is gone from there on: only whole lines follow.
  expect(text.slice(text.lastIndexOf(shown))).not.toMatch(/[█░]/);
}

test.runIf(hasTerminal)('a view while it runs, then the summary, and nothing left of the view', async () => {
  const ended = await onTerminal(await words(), {}, []);
  expect(ended.code, ended.text).toBe(0);
  expectClean(ended);
  expect(ended.text).toMatch(/financial-events {2}.*█.*\d %/);
  expect(ended.text).toMatch(/events\/s · \d+ slices? · \d+\/\d+ tokens/);
  expect(ended.text.slice(ended.text.lastIndexOf(shown))).toMatch(/Loaded .*financial-events +\d/s);
});

test.runIf(hasTerminal)('Ctrl-C ends it in good order and shows the cursor', async () => {
  const ended = await onTerminal(await words(), {}, [ctrlC]);
  expect(ended.code, ended.text).toBe(1);
  expectClean(ended);
  expect(ended.text).toMatch(/stopping: /);
  expect(ended.text).toMatch(/stopped by SIGINT/);
});

test.runIf(hasTerminal)('Ctrl-C twice ends it at once and shows the cursor', async () => {
  const ended = await onTerminal(await words(), {}, [ctrlC, ctrlC]);
  expect(ended.code, ended.text).toBe(1);
  expectClean(ended);
});

test.runIf(hasTerminal)('no view where it is not wanted', async () => {
  const range = '--from 2026-03-01 --to 2026-03-03';
  const ways: readonly (readonly [string, Record<string, string>])[] = [
    ['--quiet', {}],
    ['--log-format json', {}],
    ['', { TERM: 'dumb' }],
    ['', { CI: 'true' }],
  ];
  for (const ended of await Promise.all(
    ways.map(async ([option, environment]) => onTerminal(await words(`${range} ${option}`), environment, [])),
  )) {
    expect(ended.code, ended.text).toBe(0);
    expect(ended.text).not.toMatch(/█|\u001b\[\?25/);
  }
});

test.runIf(hasTerminal)('colours unless NO_COLOR is set', async () => {
  const range = '--from 2026-03-01 --to 2026-03-03';
  const [coloured, plain] = await Promise.all([
    onTerminal(await words(range), {}, []),
    onTerminal(await words(range), { NO_COLOR: '1' }, []),
  ]);
  const colours = /\u001b\[[\d;]*m/;
  expect(coloured.text).toMatch(colours);
  expect(plain.text).not.toMatch(colours);
  expect(plain.text).toContain(hidden);
});
