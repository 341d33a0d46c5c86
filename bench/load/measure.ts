import { join } from 'node:path';
import { loadFromJson, loadReadJson } from './duckdb.js';
import { loadHyparquet } from './hyparquet.js';
import { loadObjects } from './objects.js';
import { loadOurs } from './ours.js';
import { dayFiles } from './pages.js';

/** What loading took: seconds of the wall's clock, of the processors, and the most memory that the process held. */
export interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMB: number;
}

const loads = {
  ours: loadOurs,
  fromJson: loadFromJson,
  readJson: loadReadJson,
  objects: loadObjects,
  hyparquet: loadHyparquet,
  import: async (input: string, output: string) => {
    const files = (await dayFiles(input)).map(({ path }) => path);
    await command(['import', '--lake', join(output, 'lake'), '--account', 'demo', ...files]);
  },
  rebuild: (_input: string, output: string) => command(['rebuild', '--lake', join(output, 'lake')]),
};
export type LoadName = keyof typeof loads;

/** Runs the command line here: what it prints goes to standard error. */
async function command(words: readonly string[]): Promise<void> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  process.argv.splice(2, Infinity, ...words);
  await import('../../src/cli.js');
  process.stdout.write = write;
  if (process.exitCode !== 0) throw new Error(`${words[0] ?? ''} ended with ${String(process.exitCode)}`);
}

/** Loads once, in a process of its own, and tells what it took: `measure.js NAME INPUT OUTPUT`. */
const [, , name = '', input = '', output = ''] = process.argv;
const load = Object.entries(loads).find(([known]) => known === name)?.[1];
if (load !== undefined) {
  await load(input, output);
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const measured: Measured = {
    // From the start of the process.
    seconds: performance.now() / 1000,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMB: maxRSS / 1000,
  };
  console.log(JSON.stringify(measured));
}
