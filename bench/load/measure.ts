import { join } from 'node:path';
import { dayFiles } from './day-files.js';

/** What loading took: seconds of the wall's clock, of the processors, and the most memory that the process held. */
export interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMB: number;
}

type Load = (input: string, output: string) => Promise<void>;

/** Each loads what it needs itself: what the others need would count as its memory. */
const loads = {
  ours: async (...paths) => (await import('./ours.js')).loadOurs(...paths),
  fromJson: async (...paths) => (await import('./duckdb.js')).loadFromJson(...paths),
  readJson: async (...paths) => (await import('./duckdb.js')).loadReadJson(...paths),
  objects: async (...paths) => (await import('./objects.js')).loadObjects(...paths),
  hyparquet: async (...paths) => (await import('./hyparquet.js')).loadHyparquet(...paths),
  import: async (input, output) => {
    const files = (await dayFiles(input)).map(({ path }) => path);
    await command(['import', '--lake', join(output, 'lake'), '--account', 'demo', ...files]);
  },
  rebuild: (_input, output) => command(['rebuild', '--lake', join(output, 'lake')]),
} satisfies Record<string, Load>;
export type LoadName = keyof typeof loads;

/** Runs the built command line, as users run it, in this process: what it prints goes to standard error. */
async function command(words: readonly string[]): Promise<void> {
  process.stdout.write = process.stderr.write.bind(process.stderr);
  process.argv.splice(2, Infinity, ...words);
  await import(new URL('../../../src/cli.js', import.meta.url).href);
}

/** Loads once, in a process of its own, and tells at its end what it took: `measure.js NAME INPUT OUTPUT`. */
const [, , name = '', input = '', output = ''] = process.argv;
const load = Object.entries(loads).find(([known]) => known === name)?.[1];
if (load !== undefined) {
  const print = process.stdout.write.bind(process.stdout);
  process.once('exit', () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const measured: Measured = {
      // From the start of the process.
      seconds: performance.now() / 1000,
      cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
      peakMB: maxRSS / 1000,
    };
    print(JSON.stringify(measured));
  });
  await load(input, output);
}
