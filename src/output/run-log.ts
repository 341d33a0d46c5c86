import type { Verdict } from '../run/pipeline.js';
import type { RunEvents } from '../run/runner.js';
import { formatCount } from './amounts.js';

const setBackTexts: Readonly<Record<Verdict, string>> = {
  stop: 'can not be read',
  leave: 'is left open',
  known: 'is left open',
  part: 'is read in parts',
  shorten: 'is read in parts',
  again: 'is read again from its beginning',
};

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
      log(`${pipeline}: ${label} ${setBackTexts[verdict]}: ${reason}`);
    },
    widened: (pipeline, units, reason) => {
      log(
        `${pipeline}: ${formatCount(units.length, 'slice')} more read again, as a damaged file holds them too: ${reason}`,
      );
    },
    finished: ({ pipeline, slices, seconds }) => {
      if (slices > 0) log(`${pipeline}: done in ${seconds.toFixed(1)} s`);
    },
  };
}
