import { virtualRun } from '../test/pacing/virtual-run.js';

/**
 * Prints how near a cold backfill comes to the bound that the quota sets, `(requests - burst) / rate + one answer`, and how
 * many requests it needs against full pages, for answers from 10 ms to 10 s, without and with a tenth of all requests
 * failing. Time is the clock's of the service, which is moved on whenever all of it waits. Compile it with the rest:
 * `npm run modules`, then `node dist/modules/bench/pacing.js [SEEDS] [LATENCY_MS]
 * [PIPELINE]`.
 */
async function run(seeds: number, latencies: readonly number[], pipelines: readonly string[]): Promise<void> {
  const sizes = [
    { events: 12_000, days: 90 },
    { events: 20_000, days: 90 },
    { events: 10_000, days: 365 },
  ];
  console.log(
    'pipeline          events  days  latency  faults  requests  /least   wall s  /bound  429s  400s  lost  doubled',
  );
  for (const share of [0, 0.1]) {
    for (const latencyMs of latencies) {
      for (const pipeline of pipelines) {
        // A page has five times as many transactions.
        const larger = pipeline === 'transactions' ? 4 : 1;
        for (const { events, days } of sizes) {
          const size = { events: events * larger, days };
          for (let seed = 1; seed <= seeds; seed++) {
            const { requests, least, seconds, bound, throttled, invalid, lost, doubled, failure } = await virtualRun({
              ...size,
              pipelines: [pipeline],
              latencyMs,
              seed,
              ...(share === 0 ? {} : { timeoutMs: 3000, server: { faults: { all: { share } } } }),
            });
            if (failure instanceof Error) console.log(failure.message);
            const cells = [
              pipeline.padEnd(16),
              String(size.events).padStart(7),
              String(size.days).padStart(5),
              `${latencyMs} ms`.padStart(8),
              `${share * 100} %`.padStart(7),
              String(requests).padStart(9),
              (requests / least).toFixed(3).padStart(7),
              seconds.toFixed(0).padStart(8),
              (seconds / bound).toFixed(3).padStart(7),
              String(throttled).padStart(5),
              String(invalid).padStart(5),
              String(lost).padStart(5),
              String(doubled).padStart(8),
            ];
            console.log(cells.join(' '));
          }
        }
      }
    }
  }
}

const [seeds = '1', latency, pipeline] = process.argv.slice(2);
await run(
  Number(seeds),
  latency === undefined ? [10, 400, 3000, 10_000] : [Number(latency)],
  pipeline === undefined ? ['financial-events', 'group-events', 'transactions'] : [pipeline],
);
