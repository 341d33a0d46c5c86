import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const runner = fileURLToPath(new URL('command-runner.mjs', import.meta.url));

/** How a command has ended. */
export interface Ended {
  readonly words: readonly string[];
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Whether it ended by something that nobody caught. */
  readonly died: boolean;
  /** Whether it was killed, as it didn't come to its end. */
  readonly hung: boolean;
  readonly ms: number;
  /** By how many MB its memory grew at most, where the system says it. */
  readonly megabytes?: number;
}

export interface CommandProcessOptions {
  /** The working folder. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A command that takes longer and doesn't compute hangs; so does one that takes `mostTimes` as long. */
  readonly hangMs: number;
}

/** A machine that is busy with other things is slow, and no hang. */
const mostTimes = 10;

/** Commands that a process runs before another takes over: the memory of WASM only grows. */
const mostCommands = 150;

/** The built command in a process of its own, which is replaced when it has died, hung or run for long. */
export class CommandProcess {
  readonly #options: CommandProcessOptions;
  #child: ChildProcess | undefined;
  #commands = 0;

  constructor(options: CommandProcessOptions) {
    this.#options = options;
  }

  /** Runs one command to its end, or to that of its patience. */
  async run(words: readonly string[]): Promise<Ended> {
    if (this.#commands++ % mostCommands === 0) this.close();
    const child = (this.#child ??= this.#started());
    const began = performance.now();
    const ended = await new Promise<Omit<Ended, 'words' | 'ms'>>((resolve) => {
      let raw = '';
      const done = (result: Omit<Ended, 'words' | 'ms'>): void => {
        clearInterval(timer);
        child.stderr?.removeAllListeners('data');
        child.removeAllListeners('message');
        child.removeAllListeners('exit');
        resolve({ ...result, err: result.err + raw });
      };
      const { hangMs } = this.#options;
      let before = cpuTicks(child.pid);
      const timer = setInterval(() => {
        const now = cpuTicks(child.pid);
        const computes = now - before > idleTicks && performance.now() - began < hangMs * mostTimes;
        before = now;
        if (!computes) done({ code: -1, out: '', err: '', died: false, hung: true });
      }, hangMs);
      child.stderr?.on('data', (chunk: Buffer) => (raw += chunk.toString()));
      child.on('message', (message) => {
        done({ hung: false, ...(message as Pick<Ended, 'code' | 'out' | 'err' | 'died' | 'megabytes'>) });
      });
      child.on('exit', (code, signal) => {
        done({ code: code ?? -1, out: '', err: `ended by ${signal ?? 'itself'}\n`, died: true, hung: false });
      });
      child.send(words);
    });
    // A panic leaves WASM as it was then, which no command of a process of its own would meet.
    if (ended.died || ended.hung || ended.err.includes('panicked')) this.close();
    return { words, ms: performance.now() - began, ...ended };
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  #started(): ChildProcess {
    const { folder, environment } = this.#options;
    const home = { PATH: process.env['PATH'], HOME: folder, TMPDIR: process.env['TMPDIR'] };
    return fork(runner, [], { cwd: folder, env: { ...home, ...environment }, execArgv: [], stdio: 'pipe' });
  }
}

/** What a process that only waits takes for its timers, in hundredths of a second. */
const idleTicks = 5;

/** How long a process has computed, in hundredths of a second; 0 where the system doesn't say. */
function cpuTicks(pid = 0): number {
  try {
    const [user = '0', system = '0'] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .slice(11);
    return Number(user) + Number(system);
  } catch {
    return 0;
  }
}
