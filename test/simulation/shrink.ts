import type { Plan, Step } from './plan.js';
import { play, type Played } from './play.js';
import { noStoreFaults } from './world/store.js';

/** What of a plan is played. */
export interface Reduction {
  /** The numbers of the steps that are left. */
  readonly steps: readonly number[];
  /** Those of them around which nothing goes wrong. */
  readonly calm: readonly number[];
}

/** The plan with these steps alone, at the instants that they had. */
export function reduced(plan: Plan, { steps, calm }: Reduction): Plan {
  const kept: Step[] = [];
  let waited = 0;
  for (const step of plan.steps) {
    waited += step.after;
    if (!steps.includes(step.number)) continue;
    kept.push({ ...(calm.includes(step.number) ? calmed(step) : step), after: waited });
    waited = 0;
  }
  return { ...plan, steps: kept };
}

function calmed(step: Step): Step {
  return { ...step, crash: undefined, beside: undefined, store: noStoreFaults, upstream: [], clockChangeMs: 0 };
}

/** The longest time that a plan is shrunk for, milliseconds. */
const mostMs = 120_000;

/**
 * Finds a smaller part of a plan that fails in the same way: with fewer steps, then with fewer faults.
 *
 * @param failure the message with which the plan fails
 */
export async function shrunk(
  plan: Plan,
  failure: string,
): Promise<{ readonly reduction: Reduction; readonly played?: Played }> {
  const until = performance.now() + mostMs;
  let reduction: Reduction = { steps: plan.steps.map(({ number }) => number), calm: [] };
  let last: Played | undefined;
  const holds = async (candidate: Reduction): Promise<boolean> => {
    if (performance.now() > until) return false;
    const played = await play(reduced(plan, candidate));
    if (played.failure === undefined || kindOf(played.failure.message) !== kindOf(failure)) return false;
    reduction = candidate;
    last = played;
    return true;
  };
  for (let size = Math.ceil(reduction.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < reduction.steps.length;) {
      const { steps, calm } = reduction;
      const fewer = steps.toSpliced(at, size);
      if (fewer.length === 0 || !(await holds({ steps: fewer, calm }))) at += size;
    }
  }
  for (const number of reduction.steps) await holds({ ...reduction, calm: [...reduction.calm, number] });
  return { reduction, ...(last && { played: last }) };
}

/** The words of a failure without its names and numbers. */
function kindOf(message: string): string {
  return message
    .split(/\s+/)
    .filter((word) => /^[a-z,:]+$/.test(word))
    .slice(0, 8)
    .join(' ');
}
