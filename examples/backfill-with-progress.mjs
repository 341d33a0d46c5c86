// Loads a range of dates and prints a line for each committed slice.
//
//   node backfill-with-progress.mjs FROM TO [LAKE]
import { backfill } from 'ledgerlake';

const [, , from, to, lake = 'data/lake'] = process.argv;
if (from === undefined || to === undefined) {
  console.error('expected FROM and TO, such as 2026-01-01 2026-02-01');
  process.exit(2);
}

const summary = await backfill({
  pipelines: ['financial-events'],
  ...{ from, to, lake },
  onEvent: (event) => {
    if (event.event === 'slice-committed') {
      console.log(`${event.slice}: ${event.rows.events ?? 0} events, left: ${event.left || 'nothing'}`);
    } else if (event.event === 'service-awaited') {
      console.log(`waiting for the service until ${event.until}: ${event.reason}`);
    }
  },
});

const { events, entries, requests, seconds } = summary.pipelines['financial-events'];
console.log(`${events} events and ${entries} amounts in ${requests} requests and ${seconds.toFixed(1)} s`);
