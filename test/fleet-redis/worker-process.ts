import { onTestFinished } from 'vitest';
import type { RunEvent } from '../../src/core/events/run-event.js';
import { childRun, type ChildRun } from '../engine/run/child-run.js';

type Told = RunEvent & { readonly level: string };
type TurnEnded = Extract<RunEvent, { event: 'turn-ended' }>;

/** `ledgerlake worker` in a process of its own, and what it has told so far. */
export interface WorkerProcess {
  readonly run: ChildRun;
  readonly emitted: readonly Told[];
  /** Accounts whose turns it has begun and not ended. */
  open(): ReadonlySet<string>;
  ended(): readonly TurnEnded[];
  /** Ends it for good. */
  kill(): Promise<void>;
}

/** Starts a worker in a folder with a configuration, killed when the test ends. */
export function workerProcess(config: string, redisUrl: string, ...more: string[]): WorkerProcess {
  const words = ['worker', '--config', config, '--stalled-after', '8s', '--log-format', 'json', ...more];
  const run = childRun(words, { environment: { REDIS_URL: redisUrl } });
  const emitted: Told[] = [];
  let rest = '';
  run.process.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) emitted.push(JSON.parse(line) as Told);
  });
  const kill = async (): Promise<void> => {
    // Also one that was stopped.
    run.process.kill('SIGKILL');
    await run.ended;
  };
  onTestFinished(kill);
  return {
    run,
    emitted,
    kill,
    open: () => {
      const open = new Set<string>();
      for (const event of emitted) {
        if (event.event === 'turn-started') open.add(event.account);
        if (event.event === 'turn-ended') open.delete(event.account);
      }
      return open;
    },
    ended: () => emitted.filter((event) => event.event === 'turn-ended'),
  };
}

/** Waits until something is so, and throws what was expected where that takes too long. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 180_000): Promise<void> {
  const since = performance.now();
  while (!(await isSo())) {
    if (performance.now() - since > withinMs) throw new Error(`expected ${what} within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
