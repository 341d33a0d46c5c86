import { fleetOf } from './fleet.js';
import { steps } from './steps.js';

// A process of its own for each step, so that what it takes of processor and memory is its own.
const [name = '', folder = '', accounts, entries, nightly, worker, workers, night] = process.argv.slice(2);
const step = steps[name];
if (step === undefined) throw new Error(`no step ${name}`);
const fleet = fleetOf(folder, Number(accounts), Number(entries), Number(nightly));
const began = performance.now();
const lines = await step(fleet, { worker: Number(worker), workers: Number(workers) }, Number(night));
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
const seconds = ((performance.now() - began) / 1000).toFixed(1);
console.log(
  [
    `${seconds} s, ${((userCPUTime + systemCPUTime) / 1e6).toFixed(1)} CPU s, ${(maxRSS / 1000).toFixed(0)} MB`,
    ...lines,
  ]
    .map((line) => `  ${line}`)
    .join('\n'),
);
