import type { RunEvents } from '../run/runner.js';
import { formatCount } from './amounts.js';

/** Progress as plain lines: one when a pipeline starts and ends, with `verbose` one for each slice as well. */
export function runLog(log: (line: string) => void, verbose: boolean): RunEvents {
  return {
    planned: (pipeline, left) => {
      log(left === '' ? `${pipeline}: nothing to load` : `${pipeline}: ${left} to load`);
    },
    committed: (pipeline, slice, rows, left) => {
      if (!verbose) return;
      const held = [...rows].map(([table, count]) => `${formatCount(count)} ${table}`).join(', ');
      const after = left === '' ? 'nothing left to begin' : `${left} left to begin`;
      log(`${pipeline}: ${slice.label} committed, ${held === '' ? 'empty' : held}, ${after}`);
    },
    setBack: (pipeline, { label }, verdict, reason) => {
      const what = verdict === 'leave' ? 'is left open' : 'is read in parts';
      log(`${pipeline}: ${label} ${what}: ${reason}`);
    },
    finished: ({ pipeline, slices, seconds }) => {
      if (slices > 0) log(`${pipeline}: done in ${seconds.toFixed(1)} s`);
    },
  };
}
