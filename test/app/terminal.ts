import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RunOptions } from './built-command.js';

/** `script` of util-linux gives a child a terminal. Where it isn't there, tests are skipped, and say so. */
const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
export const hasTerminal = script.status === 0 && script.stdout.includes('util-linux');

export interface Terminal {
  type(keys: string): void;
  /** Waits until what is shown from now on matches. */
  shows(pattern: RegExp): Promise<string>;
  ended(): Promise<number | null>;
}

/** The built command on a terminal of its own, which goes when the test ends. */
export function onTerminal(words: readonly string[], { folder, environment = {} }: RunOptions): Terminal {
  const line = [process.execPath, resolve('dist/src/cli.js'), ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 200; exec ${line}`, '/dev/null'], {
    cwd: folder,
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
