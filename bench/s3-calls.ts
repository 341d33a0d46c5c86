import { backfill } from '../src/app/load/backfill.js';
import { createSeller } from '../src/emulator/seller/seller.js';
import { startApiServer } from '../src/serve/http/server.js';
import { systemClock } from '../src/core/clock.js';
import { startS3Server } from '../test/s3-server/server.js';

/**
 * Prints how many calls of S3 a backfill of a quarter makes, by operation, and how many that is for each slice that it
 * commits, and seconds; then those of a second run, which finds nothing to do. Compile it with the rest:
 * `npm run modules`, then `node dist/modules/bench/s3-calls.js [DELAY_MS]`, with milliseconds before each answer of S3.
 */
async function run(): Promise<void> {
  const clock = systemClock;
  const server = await startS3Server('bucket');
  server.delayMs = Number(process.argv[2] ?? 0);
  Object.assign(process.env, server.environment);
  const apiServer = await startApiServer({
    backend: createSeller({ seed: 1, events: 20_000, profile: 'edge-cases' }, clock),
    clock,
  });
  try {
    for (const what of ['cold run', 'second run']) {
      server.calls.length = 0;
      const began = performance.now();
      const { summary } = await backfill(
        {
          pipelines: [],
          lake: 's3://bucket/lake',
          account: 'shop',
          endpoint: apiServer.url,
          refresh: false,
          from: new Date(clock.now() - 90 * 86_400_000).toISOString().slice(0, 10),
          to: new Date(clock.now() - 86_400_000).toISOString().slice(0, 10),
          rate: 10_000,
          burst: 10_000,
          orders: undefined,
        },
        { clock, signal: new AbortController().signal, emit: () => undefined },
      );
      const slices = Object.values(summary.pipelines).reduce((sum, pipeline) => sum + pipeline.slices, 0);
      const byOperation = new Map<string, number>();
      for (const { operation } of server.calls) byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1);
      const each = slices === 0 ? '' : `, ${(server.calls.length / slices).toFixed(1)} for each of ${slices} slices`;
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      console.log(`${what}: ${server.calls.length} calls${each}, ${seconds} s`);
      for (const [operation, count] of [...byOperation].toSorted((a, b) => b[1] - a[1])) {
        console.log(`  ${operation} ${count}${slices === 0 ? '' : ` (${(count / slices).toFixed(1)} a slice)`}`);
      }
    }
  } finally {
    await apiServer.close();
    await server.close();
  }
}

await run();
