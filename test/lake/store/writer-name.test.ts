import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning, thisWriter } from '../../../src/lake/store/writer-name.js';

test('a process is running until it ends, also where nobody has waited for it', async () => {
  const writer = await thisWriter();
  expect(await isRunning(writer)).toBe(true);
  expect(await isRunning({ ...writer, start: '1' })).toBe(false);
  // The shell becomes a program that waits for no child: what it began stays a zombie.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    parent.kill('SIGKILL');
  });
  const [printed] = (await once(parent.stdout, 'data')) as [Buffer];
  const child = { ...writer, pid: Number(printed.toString()), start: '0' };
  await expect.poll(() => isRunning(child), { timeout: 60_000 }).toBe(false);
  // It is still in the table of processes.
  expect(process.kill(child.pid, 0)).toBe(true);
});
