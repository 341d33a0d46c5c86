import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));
const killAt = new URL('../../torture/kill-at.mjs', import.meta.url).href;

export interface ChildRun {
  readonly process: ChildProcess;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly output: string;
    readonly errors: string;
  }>;
}

/** See `kill-at.mjs`; 0: only counts the steps on the disk, and says at its end how many there were. */
export interface ChildOptions {
  readonly killAt?: number;
  readonly stallAt?: number;
  /** What its clock stands at. */
  readonly now?: string;
  /** Beside the test's own. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts the built command in a process of its own. */
export function childRun(words: readonly string[], options: ChildOptions = {}): ChildRun {
  if (!existsSync(cli)) throw new Error(`expected the command at ${cli}: run \`npm run build\` first`);
  const hooked = [options.killAt, options.stallAt, options.now].some((option) => option !== undefined);
  const child = spawn(process.execPath, [...(hooked ? ['--import', killAt] : []), cli, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...options.environment,
      LEDGERLAKE_TEST_KILL_AT: String(options.killAt ?? 0),
      LEDGERLAKE_TEST_STALL_AT: String(options.stallAt ?? 0),
      LEDGERLAKE_TEST_NOW: options.now ?? '',
    },
  });
  const texts = { output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.errors += chunk.toString()));
  const ended = new Promise<Awaited<ChildRun['ended']>>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve({ code, signal, ...texts });
    });
  });
  return { process: child, ended };
}
