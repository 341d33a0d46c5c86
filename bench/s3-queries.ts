import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { backfill } from '../src/app/load/backfill.js';
import { LakeDatabase } from '../src/app/query/lake-database.js';
import { openLakeReader } from '../src/app/query/lake-files.js';
import { report } from '../src/app/report/report.js';
import { systemClock } from '../src/core/clock.js';
import { createSeller } from '../src/emulator/seller/seller.js';
import { startApiServer } from '../src/serve/http/server.js';
import { startS3Server } from '../test/s3-server/server.js';

const lake = 's3://bucket/lake';
const signal = new AbortController().signal;
const quiet = { clock: systemClock, signal, emit: () => undefined };

/**
 * Prints the requests, the bytes and the seconds of a first and of a second query over a lake on S3: a month of entries, all events,
 * and the report. `npm run modules`, then `node dist/modules/bench/s3-queries.js [DELAY_MS] [EVENTS]`, with milliseconds before each
 * answer of S3 and events in 90 days.
 */
async function run(): Promise<void> {
  const [delayMs = 0, events = 20_000] = process.argv.slice(2).map(Number);
  const server = await startS3Server('bucket');
  Object.assign(process.env, server.environment);
  const backend = createSeller({ seed: 1, events, profile: 'edge-cases' }, systemClock);
  const apiServer = await startApiServer({ backend, clock: systemClock });
  const day = (ago: number) => new Date(systemClock.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const range = { from: day(90), to: day(1), account: 'shop', endpoint: apiServer.url };
  await backfill(
    { pipelines: [], lake, refresh: false, rate: 10_000, burst: 10_000, orders: undefined, ...range },
    quiet,
  );
  await apiServer.close();
  server.delayMs = delayMs;
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  const cache = { cache: folder, cacheGigabytes: 10 };
  const sql = async (query: string): Promise<void> => {
    const views = await LakeDatabase.open(await openLakeReader(lake, systemClock, cache));
    await views.refresh();
    await views.execute(query);
    views.close();
  };
  const month = day(45).slice(0, 7);
  const asked: Readonly<Record<string, () => Promise<unknown>>> = {
    [`entries of ${month}`]: () => sql(`SELECT kind, sum(amount) FROM entries WHERE month = '${month}' GROUP BY ALL`),
    'all events': () => sql('SELECT sum(length(raw)) FROM events'),
    report: () =>
      report(
        { lake, account: undefined, from: undefined, to: undefined, output: '-', ...cache },
        { clock: systemClock, signal, output: new PassThrough().resume(), emit: () => undefined },
      ),
  };
  for (const [name, ask] of Object.entries(asked)) {
    for (const turn of ['first', 'second']) {
      server.calls.length = 0;
      const began = performance.now();
      await ask();
      const seconds = ((performance.now() - began) / 1000).toFixed(2);
      const files = server.calls.filter(({ operation, key }) => operation === 'GetObject' && key.endsWith('.parquet'));
      const bytes = files.reduce(
        (sum, { key }) => sum + (server.bucket('bucket').objects.get(key)?.bytes.length ?? 0),
        0,
      );
      console.log(
        `${name}, ${turn}: ${server.calls.length} requests, ${files.length} of data files, ${(bytes / 1e6).toFixed(1)} MB, ${seconds} s`,
      );
    }
  }
  await server.close();
  await rm(folder, { recursive: true });
}

await run();
