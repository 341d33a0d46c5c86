import { messageOf } from '../src/core/errors.js';
import { isoInstant } from '../src/core/numeric/instant.js';
import { joined, type Window } from '../src/core/windows.js';
import { virtualRun, WholeClock } from '../test/pacing/virtual-run.js';

/**
 * Prints how long a first load takes at the live quota, how many requests it sends, and when the newest month is complete. Time is
 * the clock's of the service, which is moved on whenever all of it waits. Compile it with the rest: `npm run modules`, then
 * `node dist/modules/bench/first-load.js [EVENTS] [DAYS] [LATENCY_MS]`: events in these days, which are loaded.
 */
async function run(events: number, days: number, latencyMs: number): Promise<void> {
  const clock = new WholeClock('2026-07-16T12:00:00Z');
  const began = clock.now();
  const month = { start: Date.UTC(2026, 6), end: began - 5 * 60_000 };
  const loaded: Window[] = [];
  let completeMs: number | undefined;
  const outcome = await virtualRun({
    pipelines: ['financial-events'],
    events: (events * 90) / days,
    days,
    latencyMs,
    clock,
    emit: (event) => {
      if (event.event !== 'slice-committed') return;
      const [start = '', end = ''] = event.slice.split('/');
      loaded.push({ start: Date.parse(start), end: Date.parse(end) });
      const isComplete = joined(loaded).some((window) => window.start <= month.start && window.end >= month.end);
      if (isComplete) completeMs ??= clock.now() - began;
    },
  });
  const { requests, least, seconds, bound, lost, doubled, failure } = outcome;
  const minutes = (ms: number | undefined) => (ms === undefined ? 'never' : `${(ms / 60_000).toFixed(1)} min`);
  console.log(
    `${requests} requests (full pages: ${least}), ${minutes(seconds * 1000)} (bound: ${minutes(bound * 1000)})`,
  );
  console.log(`complete from ${isoInstant(month.start)} on after ${minutes(completeMs)}`);
  console.log(`lost ${lost}, doubled ${doubled}${failure === undefined ? '' : `, ${messageOf(failure)}`}`);
}

const [events = '400000', days = '365', latency = '400'] = process.argv.slice(2);
await run(Number(events), Number(days), Number(latency));
