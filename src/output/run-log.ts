import type { RunEvents } from '../run/runner.js';
import { formatCount } from './amounts.js';

/** Progress as plain lines: one when a pipeline starts and ends, with `verbose` one for each slice as well. */
export function runLog(log: (line: string) => void, verbose: boolean): RunEvents {
  return {
    planned: (pipeline, slices) => {
      log(slices === 0 ? `${pipeline}: nothing to load` : `${pipeline}: ${formatCount(slices, 'slice')} to load`);
    },
    committed: (pipeline, slice, rows, left) => {
      if (!verbose) return;
      const held = [...rows].map(([table, count]) => `${formatCount(count)} ${table}`).join(', ');
      log(`${pipeline}: ${slice.label} committed, ${held === '' ? 'empty' : held}, ${left} left`);
    },
    finished: ({ pipeline, slices, seconds }) => {
      if (slices > 0) log(`${pipeline}: done in ${seconds.toFixed(1)} s`);
    },
  };
}
