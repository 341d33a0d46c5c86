import { bundled } from './bundle.js';
import { replayLine, runSeeds, type PlayedSeed } from './run-seeds.js';

/* `make simulate`: plays seeds in two processes, prints a line for each that fails, and a summary. */

const number = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);
const list = (name: string): number[] | undefined => process.env[name]?.split(',').map(Number);

const mostSeed = 9_999_999;
const [seeds, first, days] = [number('SEEDS', 60), number('FROM', 1), number('DAYS', 365)];
if (![seeds, first, days].every(Number.isSafeInteger) || first < 0 || first + seeds - 1 > mostSeed) {
  throw new Error(`expected SEEDS, FROM and DAYS to be whole numbers, and seeds up to ${mostSeed}`);
}
const file = await bundled('simulation');
const chosen = Array.from({ length: seeds }, (_, at) => first + at);
const [steps, calm] = [list('STEPS'), list('CALM')];
const isTraced = process.env['TRACE'] !== undefined;
const began = performance.now();
const request = { days, isTraced, isShrunk: steps === undefined, ...(steps && { steps }), ...(calm && { calm }) };
const report = (played: PlayedSeed): void => {
  if (played.failure !== undefined) console.log(replayLine(played, days));
};
const left = [...chosen];
/** Plays seeds until none is left: ever fewer at a time, so that both processes end together. */
async function playLeft(): Promise<PlayedSeed[]> {
  const played: PlayedSeed[] = [];
  while (left.length > 0) {
    const own = left.splice(0, Math.ceil(left.length / 4));
    played.push(
      ...(await runSeeds(file, { ...request, seeds: own }, report, (line) => {
        console.log(line);
      })),
    );
  }
  return played;
}
const played = await Promise.all([playLeft(), playLeft()]);
const all = played.flat();
const sum = (name: keyof PlayedSeed['figures']): string =>
  all.reduce((total, { figures }) => total + figures[name], 0).toLocaleString('en');
const failed = all.filter(({ failure }) => failure !== undefined).length;
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
console.log(
  `${all.length} seeds: ${sum('days')} days, ${sum('commits')} commits, ${sum('requests')} requests, ${sum('upstreamFaults')} faults of ` +
    `the service, ${sum('storeFaults')} of the store, ${sum('crashes')} crashes, ${failed} failed, in ${minutes} minutes`,
);
process.exitCode = failed > 0 ? 1 : 0;
