import { loadFromJson, loadReadJson } from './duckdb.js';
import { loadHyparquet } from './hyparquet.js';
import { loadObjects } from './objects.js';
import { loadOurs } from './ours.js';

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
};
export type LoadName = keyof typeof loads;

/** Loads once, in a process of its own, and tells what it took: `measure.js NAME INPUT OUTPUT`. */
const [, , name = '', input = '', output = ''] = process.argv;
const load = Object.entries(loads).find(([known]) => known === name)?.[1];
if (load !== undefined) {
  const began = performance.now();
  await load(input, output);
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const measured: Measured = {
    seconds: (performance.now() - began) / 1000,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMB: maxRSS / 1000,
  };
  console.log(JSON.stringify(measured));
}
