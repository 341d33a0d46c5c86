import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Request } from './main.js';
import type { Figures } from './play.js';
import type { Reduction } from './shrink.js';

/** A seed as its process reports it. */
export interface PlayedSeed {
  readonly seed: number;
  /** The step at which it failed, or the number of steps. */
  readonly step: number;
  readonly figures: Figures;
  /** A hash of all that has happened. */
  readonly trace: string;
  readonly ms: number;
  readonly failure?: string;
  readonly reduction?: Reduction;
}

/**
 * Plays seeds in a process of their own.
 *
 * @param file the simulation, as `bundled` compiles it
 * @param onLine gets what isn't the report of a seed
 * @throws Error where the process ends before its last seed
 */
export async function runSeeds(
  file: string,
  request: Request,
  onSeed: (played: PlayedSeed) => void = () => undefined,
  onLine: (line: string) => void = () => undefined,
): Promise<PlayedSeed[]> {
  const child = spawn(process.execPath, [file, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const played: PlayedSeed[] = [];
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"seed":')) {
      onLine(line);
      continue;
    }
    const one = JSON.parse(line) as PlayedSeed;
    played.push(one);
    onSeed(one);
  }
  const code = await ended;
  if (code !== 0)
    throw new Error(`the simulation ended with ${code} after ${played.length} seeds: ${errors.slice(0, 2000)}`);
  return played;
}

/** What plays a seed again. */
export function replayLine({ seed, failure = '', reduction }: PlayedSeed, days: number): string {
  const steps = reduction === undefined ? '' : ` STEPS=${reduction.steps.join()}`;
  const calm = reduction === undefined || reduction.calm.length === 0 ? '' : ` CALM=${reduction.calm.join()}`;
  return `make simulate SEEDS=1 FROM=${seed} DAYS=${days}${steps}${calm}  # ${failure.slice(0, 300)}`;
}
