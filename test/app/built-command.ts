import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** The command line as other users of the machine could read it while it ran; empty where there is no /proc. */
  readonly commandLine: string;
}

export interface RunOptions {
  /** The working folder. */
  readonly folder: string;
  /** Beside PATH; nothing else of the test's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** What a summary as JSON has of each pipeline, whatever the command: the contract names them. */
export const summaryFields = [
  ...['slices', 'requests', 'retries', 'throttled', 'pages'],
  ...['events', 'entries', 'files', 'bytes', 'seconds'],
];

/** Runs the built command to its end. */
export async function builtCommand(words: readonly string[], { folder, environment = {} }: RunOptions): Promise<Ended> {
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let commandLine = '';
  const look = (): void => {
    const file = `/proc/${child.pid ?? 0}/cmdline`;
    if (child.exitCode === null && existsSync(file)) commandLine += readFileSync(file, 'utf8');
  };
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    look();
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  await once(child, 'spawn');
  look();
  await once(child, 'close');
  return { code: child.exitCode, out, err, commandLine };
}
