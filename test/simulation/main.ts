import { planOf, warmUp } from './plan.js';
import { play } from './play.js';

/* The simulation as a program: `node dist/simulation/NAME.mjs FIRST SEEDS DAYS [trace]`. It prints a line of JSON for each seed. */

const [first = '1', seeds = '1', days = '42', trace] = process.argv.slice(2);

const warm = await play(warmUp(), { isPatient: true, keepsTrace: true });
if (warm.failure !== undefined) {
  console.log(warm.lines.join('\n'));
  throw warm.failure;
}

for (let seed = Number(first); seed < Number(first) + Number(seeds); seed++) {
  const began = performance.now();
  const { failure, lines, ...played } = await play(planOf(seed, Number(days)), { keepsTrace: trace !== undefined });
  if (trace !== undefined) console.log(lines.join('\n'));
  const ms = Math.round(performance.now() - began);
  console.log(JSON.stringify({ ...played, ms, failure: failure?.message }));
  if (failure !== undefined && process.env['STOP'] !== undefined) break;
  if (failure !== undefined && trace !== undefined) console.log(failure.stack, failure.cause);
}
