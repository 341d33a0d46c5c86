import { once } from 'node:events';
import type { Clock } from '../core/clock.js';
import type { Emit } from '../core/events/run-event.js';
import type { Output } from '../core/text/sink.js';
import type { Lake } from '../lake/lake.js';

/** What a run of a command depends on. */
export interface RunContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly emit: Emit;
  /** Asks the user for a yes or no; left out where nobody can answer. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** Once it aborts, no slice is started, and open slices are completed. */
  readonly closing?: AbortSignal | undefined;
}

/** The context of a command that prints texts besides its result. */
export interface CommandContext extends RunContext {
  /** Prints a text for people before the command has its result: a line, or several. */
  readonly print: (text: string) => void;
}

/** The context of a command that streams its results. */
export interface ReadingContext extends RunContext {
  readonly output: Output;
}

/** Resolves once a signal has aborted, at once where it has already: then no event follows. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * Reports the damaged checkpoints that were skipped when a lake was opened. Every command that opens a lake calls it.
 *
 * @param rewritten whether the command writes new ones
 */
export function emitDamage(
  { damagedCheckpoints }: Pick<Lake, 'damagedCheckpoints'>,
  emit: Emit,
  rewritten = false,
): void {
  for (const file of damagedCheckpoints) {
    emit({ event: 'checkpoint-damaged', file, reason: 'its bytes have changed', rewritten });
  }
}

/** Also emits `stopping` where the signal aborts between the run's start and its end. */
export function withStoppingEvent(emit: Emit, signal: AbortSignal): Emit {
  const stopping = (): void => {
    emit({ event: 'stopping' });
  };
  return (event) => {
    if (event.event === 'run-started') signal.addEventListener('abort', stopping, { once: true });
    if (event.event === 'run-ended') signal.removeEventListener('abort', stopping);
    emit(event);
  };
}
