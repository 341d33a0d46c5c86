import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { expectHarmless } from '../cli/hostile-text.js';

const hook = fileURLToPath(new URL('measured-hook.mjs', import.meta.url));

/** MB of memory that no hostile input may take a command beyond: an import of sound pages takes about half of it. */
export const mostMegabytes = 700;

/** A command that takes longer is taken to hang. */
const hangMs = 300_000;

export interface MeasuredOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** What comes in on standard input, for as long as the command reads. */
  readonly input?: Iterable<Buffer>;
  /** How many times faster its clock runs. */
  readonly speed?: number;
  /** Milliseconds after which it gets SIGINT. */
  readonly interruptMs?: number;
}

export interface Measured {
  /** The folder that it ran in, its lake in `lake`. */
  readonly folder: string;
  /** Null where it was killed or has died. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Peak of its memory. */
  readonly megabytes: number;
  readonly seconds: number;
}

/** Runs the built command in a folder of its own, to its end. */
export async function measuredCommand(words: readonly string[], options: MeasuredOptions = {}): Promise<Measured> {
  const { environment = {}, input, speed = 1, interruptMs } = options;
  const folder = await temporaryFolder();
  const temporary = await temporaryFolder();
  const memory = join(await temporaryFolder(), 'memory');
  const wishes = new URLSearchParams({ memory, speed: String(speed) });
  if (interruptMs !== undefined) wishes.set('interrupt', String(interruptMs));
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['--import', `file://${hook}?${wishes.toString()}`, resolve('dist/src/cli.js'), ...words, '--lake', 'lake'],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: temporary, ...environment },
      timeout: hangMs,
      killSignal: 'SIGKILL',
    },
  );
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  // A command that has ended reads no more.
  const fed = pipeline(Readable.from(input ?? []), child.stdin).catch(() => undefined);
  await once(child, 'close');
  await fed;
  const seconds = (performance.now() - began) / 1000;
  const megabytes = existsSync(memory) ? Number(await readFile(memory, 'utf8')) / 1024 : Number.NaN;
  expect([words.join(' '), await readdir(temporary)]).toEqual([words.join(' '), []]);
  return { folder, code: child.exitCode, out, err, megabytes, seconds };
}

/** What a command is expected to do with hostile input. */
export interface Expected {
  readonly code: number;
  /** What it says on standard error: in one line, unless it ends well. */
  readonly says?: RegExp;
}

/** Fails unless a command that was told to be quiet ended as documented, within its memory, and left a whole lake. */
export async function expectHeld(ended: Measured, { code, says }: Expected): Promise<void> {
  expect([ended.code, ended.code === code ? '' : ended.err]).toEqual([code, '']);
  expectHarmless(ended, 'the command');
  expect(ended.out.length + ended.err.length).toBeLessThan(3000);
  if (says !== undefined) expect(ended.err).toMatch(says);
  if (code !== 0) expect(ended.err).toMatch(/^ledgerlake: .+\n$/);
  expect(ended.megabytes).toBeLessThan(mostMegabytes);
  if (!existsSync(join(ended.folder, 'lake'))) return;
  const verified = await builtCommand(['verify', '--lake', 'lake'], { folder: ended.folder });
  // A run that was stopped before its first commit has loaded nothing.
  if (verified.code === 2 && verified.err.includes('expected a lake to verify at lake, got an empty one')) return;
  expect([verified.code, verified.code === 0 ? '' : verified.out + verified.err]).toEqual([0, '']);
}

/** What was tried, and what came of it. */
export class Figures {
  readonly #rows: Record<string, Record<string, string | number>> = {};

  /** A kind of attack that has held. */
  held(kind: string, { code, megabytes, seconds }: Measured): void {
    const { tried = 0, MB = 0 } = this.#rows[kind] ?? {};
    this.#rows[kind] = {
      tried: Number(tried) + 1,
      held: Number(tried) + 1,
      'exit code': code ?? 'none',
      MB: Math.max(Number(MB), Math.round(megabytes)),
      seconds: Number(seconds.toFixed(1)),
    };
  }

  print(): void {
    console.table(this.#rows);
  }
}

/** Everything in a folder that is no credential of its user's, names included. */
export async function everythingIn(folder: string): Promise<string> {
  let text = '';
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    text += `${entry.name}\n`;
    if (entry.isFile()) text += await readFile(join(entry.parentPath, entry.name), 'latin1');
  }
  return text;
}
