import { once } from 'node:events';
import type { Clock } from '../core/clock.js';
import type { Emit } from '../core/events/run-event.js';
import type { Output } from '../core/text/sink.js';
import type { Lake } from '../lake/lake.js';
import { leaseText, type RunLease } from '../lake/upkeep/leases.js';

/** The clock of a command, the signal that stops it, and what takes its output. */
export interface CommandContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Takes results for people: a line, or several. */
  readonly print: (text: string) => void;
  /** Takes the summary for programs, which `--json` prints instead of text. */
  readonly printJson: (summary: Readonly<Record<string, unknown>>) => void;
  /** Takes what is known of a run before it has a summary: it is asked for where the run fails by then. */
  readonly setProvisionalSummary?: (known: () => Readonly<Record<string, unknown>>) => void;
  /** Takes progress: a line. */
  readonly log: (line: string) => void;
}

/** The same for a run, which emits events; listeners decide what becomes of them. */
export interface RunContext extends Omit<CommandContext, 'log'> {
  readonly emit: Emit;
  /** Once it aborts nothing further is begun, and what is open comes to its end. */
  readonly closing?: AbortSignal | undefined;
}

/** The same for a command that writes its results piece by piece. */
export interface ReadingContext extends Omit<CommandContext, 'print' | 'printJson' | 'setProvisionalSummary'> {
  readonly output: Output;
}

/** Resolves once a signal has aborted, also where it has by now: then no event follows. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * Reports the damaged checkpoints that were passed over when a lake was opened; every command that opens one does.
 *
 * @param rewritten whether the command writes new ones
 */
export function emitDamagedCheckpoints({ tables }: Pick<Lake, 'tables'>, emit: Emit, rewritten = false): void {
  for (const { path, fault = '' } of tables.flatMap(({ damagedCheckpoints }) => damagedCheckpoints)) {
    emit({ event: 'checkpoint-damaged', file: path, reason: fault, rewritten });
  }
}

/** The same before a command writes to the lake, which replaces the note of its tables' versions where that can't be read. */
export function emitDamage(lake: Lake, emit: Emit, rewritten = false): void {
  emitDamagedCheckpoints(lake, emit, rewritten);
  if (lake.hasVersionNote) return;
  const message =
    '_versions.json was missing or damaged, and is written again; commits that were lost with it at the end of a log are not detected';
  emit({ event: 'message', message });
}

/** Reports the runs that are at work on the lake already; of those that say so only runs of the same account. */
export function emitOtherRuns({ others }: RunLease, account: string | undefined, emit: Emit): void {
  for (const other of others) {
    const whose = other.purpose?.account;
    // Workers load many accounts into one lake side by side.
    if (whose !== undefined && account !== undefined && whose !== account) continue;
    const message = `another run is active on the lake (${leaseText(other)}); both continue, and what both load counts once`;
    emit({ event: 'message', message });
  }
}
