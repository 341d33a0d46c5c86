// Stops a run after a number of committed slices, as a scheduler stops a run that takes too long. The next run continues.
//
//   node stop-after.mjs SLICES [LAKE]
import { backfill, RunError } from 'ledgerlake';

const [, , slices, lake = 'data/lake'] = process.argv;

const stopping = new AbortController();
let committed = 0;
try {
  await backfill({
    pipelines: ['financial-events'],
    lake,
    signal: stopping.signal,
    onEvent: ({ event }) => {
      if (event === 'slice-committed' && ++committed >= Number(slices)) stopping.abort();
    },
  });
  console.log('done before it was stopped');
} catch (error) {
  if (!(error instanceof RunError) || error.code !== 'STOPPED') throw error;
  const { slices: kept, events } = error.summary.pipelines['financial-events'];
  console.log(`stopped: ${kept} slices with ${events} events stay`);
}

const { pipelines } = await backfill({ pipelines: ['financial-events'], lake });
console.log(`then: ${pipelines['financial-events'].slices} slices more`);
