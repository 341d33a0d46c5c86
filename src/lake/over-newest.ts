import { codeOf } from '../core/errors.js';
import { DamagedFile } from './delta/data-file.js';
import type { Lake } from './lake.js';

/** What a step is over, chosen from the newest version of a lake. */
interface Choice<C> {
  readonly choose: () => C;
  /** Whether another run has replaced nothing of it. */
  readonly isSame: (chosen: C, newest: C) => boolean;
  /** Left out: 5. */
  readonly mostAttempts?: number;
}

/**
 * Runs a step over what is chosen for it. Where another run has replaced some of that meanwhile, so that the step can't read it or
 * returns undefined, chooses again. A loop whose next step takes what is left by then anyway doesn't need this.
 *
 * @returns what the step returns; undefined only where the last attempt does
 * @throws what the step throws: at once where what was chosen is still the same
 */
export async function overNewest<C, T>(
  lake: Pick<Lake, 'refresh'>,
  { choose, isSame, mostAttempts = 5 }: Choice<C>,
  step: (chosen: C) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const chosen = choose();
    try {
      const done = await step(chosen);
      if (done !== undefined || attempt === mostAttempts) return done;
    } catch (error) {
      const isReading = error instanceof DamagedFile || codeOf(error) === 'SQL';
      if (!isReading) throw error;
      await lake.refresh();
      if (attempt === mostAttempts || isSame(chosen, choose())) throw error;
    }
  }
}
