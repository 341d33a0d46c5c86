import { codeOf } from '../core/errors.js';
import type { Snapshot } from './catalog/snapshot.js';
import { CommitConflict, type Chosen } from './commit-files.js';
import { DamagedFile } from './delta/data-file.js';
import type { Lake } from './lake.js';

/** Attempts over something that other runs change each time. */
const mostAttempts = 20;

/**
 * Runs a step over what is chosen from the newest snapshot. Where another run has changed some of that meanwhile, so that the step can't
 * read it, or its commit is a conflict (`FileCommit.over`), chooses again.
 *
 * @throws what the step throws: at once where what was chosen is still the same; after 20 attempts a CommitConflict, too
 */
export async function overNewest<const C extends readonly Chosen[], T>(
  lake: Pick<Lake, 'refresh' | 'snapshot'>,
  choose: (snapshot: Snapshot) => C,
  step: (chosen: C) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const chosen = choose(lake.snapshot);
    try {
      return await step(chosen);
    } catch (error) {
      if (!(await isOvertaken(lake, chosen, error)) || attempt === mostAttempts) throw error;
    }
  }
}

/** One attempt: `replaced` where another run has changed some of what was chosen. For loops that take what is left then anyway. */
export async function unlessReplaced<T>(
  lake: Pick<Lake, 'refresh' | 'snapshot'>,
  chosen: readonly Chosen[],
  step: () => Promise<T>,
): Promise<T | 'replaced'> {
  try {
    return await step();
  } catch (error) {
    if (!(await isOvertaken(lake, chosen, error))) throw error;
    return 'replaced';
  }
}

/** Whether a step failed because another run has changed some of what was chosen for it. */
async function isOvertaken(
  lake: Pick<Lake, 'refresh' | 'snapshot'>,
  chosen: readonly Chosen[],
  error: unknown,
): Promise<boolean> {
  if (error instanceof CommitConflict) return true;
  // Others may come after a commit.
  const isReading = error instanceof DamagedFile || codeOf(error) === 'SQL';
  if (!isReading) return false;
  await lake.refresh();
  return !chosen.every(({ isCurrent }) => isCurrent(lake.snapshot));
}
