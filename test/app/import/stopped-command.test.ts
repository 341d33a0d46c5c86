import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../lake-run.js';
import { threadLimits } from '../../../src/core/worker-thread.js';
import { shipment } from '../load/backend-items.js';
import { eventsBody, fileOf } from './imported.js';

/** Bodies of so many bytes in all, a thousand events an hour. */
function bodies(bytes: number): string[] {
  const made: string[] = [];
  for (let page = 0, length = 0; length < bytes; page++) {
    const iso = new Date(Date.UTC(2025, 0, 1) + page * 360_000).toISOString();
    const items = Array.from({ length: 100 }, (_, number) => shipment(iso, `111-${String(page * 100 + number)}`));
    const body = eventsBody(items);
    length += body.length;
    made.push(body);
  }
  return made;
}

test('SIGTERM ends an import with a thread in good order', async () => {
  const folder = await temporaryFolder();
  const temporary = await temporaryFolder();
  const size = Math.max(50_000_000, Number.isFinite(threadLimits.from) ? threadLimits.from : 0);
  const words = ['import', '--lake', 'lake', '--account', 'shop', '--log-format', 'json', '--verbose'];
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words, await fileOf(bodies(size))], {
    cwd: folder,
    env: { PATH: process.env['PATH'], TMPDIR: temporary },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let logged = '';
  let isStopped = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
    const read = [...text.matchAll(/"event":"input-read".*?"bytes":(\d+)/g)].map(([, bytes]) => Number(bytes));
    // Rows of several parts are on their way by then.
    // The second signal would end it at once.
    if (read.some((bytes) => bytes > 25_000_000) && !isStopped) isStopped = child.kill('SIGTERM');
  });
  await once(child, 'close');
  expect(child.exitCode, logged.slice(-2000)).toBe(1);
  expect(logged).toContain('stopped by SIGTERM');
  const events = join(folder, 'lake', 'events');
  expect(existsSync(events) ? await readdir(events) : []).not.toContain('account=shop');
  expect(await readdir(temporary)).toEqual([]);
});
