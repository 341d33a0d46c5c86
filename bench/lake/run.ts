import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { lakeOf } from './fleet.js';

const script = fileURLToPath(new URL('step.js', import.meta.url));

/**
 * Fills a lake with the accounts of an agency, lets a night go by, and prints what that costs and what readers find: seconds
 * of the wall, CPU seconds and memory of each step, how long the logs take to open, and what a query for one account's month
 * reads. `node dist/modules/bench/lake/run.js ACCOUNTS ENTRIES WORKERS [NIGHTLY] [FOLDER]`, or `make bench-lake`. A lake that is in the folder
 * already is gone on from, and stays.
 */
async function run(
  { accounts, entries, workers, nightly }: Record<'accounts' | 'entries' | 'workers' | 'nightly', number>,
  kept: string | undefined,
): Promise<void> {
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'ledgerlake-bench-')));
  await mkdir(folder, { recursive: true });
  const step = async (name: string, night: number, at = 1): Promise<void> => {
    const printed = await Promise.all(
      Array.from({ length: at }, (_, index) => {
        const words = [script, name, folder, accounts, entries, nightly, index + 1, at, night].map(String);
        const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
        const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
        return Promise.all([text(child.stdout), ended]);
      }),
    );
    console.log(`${name}${at === 1 ? '' : ` by ${at} workers`}, night ${night}`);
    for (const [output, code] of printed) {
      console.log(output.trimEnd());
      if (code !== 0) throw new Error(`${name} ended with ${code ?? 'a signal'}`);
    }
  };
  try {
    const isThere = await stat(lakeOf({ folder })).then(
      () => true,
      () => false,
    );
    if (!isThere) await step('fill', 0, workers);
    await step('open', 0);
    await step('query', 0);
    await step('sync', 1, workers);
    await step('compact', 1);
    await step('sync', 2, workers);
    await step('compact', 2);
    await step('open', 2);
    await step('query', 2);
    for (const night of [2, 3, 4]) {
      if (night > 2) await step('sync', night, workers);
      await step('export', night);
    }
    await step('sync-export', 5, workers);
  } finally {
    if (kept === undefined) await rm(folder, { recursive: true, force: true });
  }
}

const [accounts = '100', entries = '1000000', workers = '2', nightly = accounts, kept] = process.argv.slice(2);
const sizes = { accounts: Number(accounts), entries: Number(entries), workers: Number(workers) };
await run({ ...sizes, nightly: Number(nightly) }, kept);
