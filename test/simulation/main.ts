import { planOf, warmUp } from './plan.js';
import { play } from './play.js';
import { reduced, shrunk } from './shrink.js';

/*
 * The simulation as a program of plain Node: it plays the seeds of its argument, a JSON object, and prints a line of JSON for each.
 */

/** What is played, as `simulate.ts` and the tests give it. */
export interface Request {
  readonly seeds: readonly number[];
  readonly days: number;
  /** Numbers of the steps that are played; left out: all. */
  readonly steps?: readonly number[];
  /** Steps around which nothing goes wrong. */
  readonly calm?: readonly number[];
  /** Prints all that happens. */
  readonly isTraced?: boolean;
  /** Ends with the first seed that fails. */
  readonly stopsAtFailure?: boolean;
  /** Shrinks what fails. */
  readonly isShrunk?: boolean;
}

const request = JSON.parse(process.argv[2] ?? '{}') as Request;
const { seeds, days, steps, calm = [], isTraced = false, stopsAtFailure = false, isShrunk = false } = request;

// What is wrong with it the seeds find, too.
await play(warmUp(), { isPatient: true });

for (const seed of seeds) {
  const plan = planOf(seed, days);
  const all = plan.steps.map(({ number }) => number);
  const began = performance.now();
  const { failure, lines, ...played } = await play(reduced(plan, { steps: steps ?? all, calm }), {
    keepsTrace: isTraced,
  });
  const ms = Math.round(performance.now() - began);
  for (const line of lines) console.log(line);
  const isFailed = failure !== undefined;
  const reduction = isFailed && isShrunk ? (await shrunk(plan, failure.message)).reduction : undefined;
  console.log(JSON.stringify({ ...played, ms, failure: failure?.message, reduction }));
  if (isFailed && isTraced) console.log(failure.stack, failure.cause);
  if (isFailed && stopsAtFailure) break;
}
