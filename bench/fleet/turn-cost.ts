import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/core/clock.js';
import type { CommandResult } from '../../src/app/command-result.js';
import type { RunSummary } from '../../src/app/results.js';
import { backfill } from '../../src/app/load/backfill.js';
import { sync } from '../../src/app/load/sync.js';

/**
 * Prints the processor seconds and the memory of this process for turns of a small account and of one that isn't, the
 * service being a process of its own. Compile it with the rest: `npm run modules`, then
 * `node dist/modules/bench/fleet/turn-cost.js`.
 */
async function run(turns: number): Promise<void> {
  for (const events of [30, 30_000]) {
    const cli = fileURLToPath(new URL('../../src/cli.js', import.meta.url));
    const options = ['--port', '0', '--events', String(events), '--rate', '10000', '--burst', '10000'];
    const server = spawn(process.execPath, [cli, 'serve', ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
    const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
    try {
      const endpoint = await new Promise<string>((resolve) => {
        server.stdout.once('data', (text: Buffer) => {
          resolve(text.toString().replace('listening on ', '').trim());
        });
      });
      const shared = {
        pipelines: [],
        lake: folder,
        account: 'shop',
        endpoint,
        rate: 10_000,
        burst: 10_000,
      };
      const context = { clock: systemClock, signal: new AbortController().signal, emit: () => undefined };
      const from = new Date(Date.now() - 90 * 86_400_000).toISOString().slice(0, 10);
      await spent(`${events} events in 90 days, backfill`, () =>
        backfill({ ...shared, refresh: false, from, to: undefined, orders: undefined }, context),
      );
      const again = () => sync({ ...shared, orders: undefined, lookBack: undefined, maxLag: undefined }, context);
      let last = await again();
      await spent(
        `${events} events in 90 days, ${turns} syncs, each`,
        async () => {
          for (let turn = 0; turn < turns; turn++) last = await again();
          return last;
        },
        turns,
      );
    } finally {
      server.kill();
      await rm(folder, { recursive: true });
    }
  }
}

async function spent(what: string, work: () => Promise<CommandResult<RunSummary>>, times = 1): Promise<void> {
  const before = process.cpuUsage();
  const began = performance.now();
  const { summary } = await work();
  const { user, system } = process.cpuUsage(before);
  const sum = (of: 'requests' | 'slices' | 'events') =>
    Object.values(summary.pipelines).reduce((total, pipeline) => total + pipeline[of], 0);
  const cpu = ((user + system) / 1000 / times).toFixed(0);
  const wall = ((performance.now() - began) / times).toFixed(0);
  const counts = `${sum('requests')} requests, ${sum('slices')} slices, ${sum('events')} events`;
  console.log(`${what}: ${cpu} CPU ms, ${wall} ms, ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB; ${counts}`);
}

await run(Number(process.argv[2] ?? 20));
