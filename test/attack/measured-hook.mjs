// Loaded into a command before its own code, with its wishes in the address: `memory`, a file for its peak in kB;
// `speed`, how many times faster than ours its clock runs; `interrupt`, milliseconds until it gets SIGINT.
import { readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const wishes = new URL(import.meta.url).searchParams;
const memory = wishes.get('memory');
const speed = Number(wishes.get('speed') ?? 1);
const interrupt = wishes.get('interrupt');

if (isMainThread) {
  process.on('exit', () => {
    // Of this program alone: `maxRSS` begins with that of the process which started it.
    const own = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    writeFileSync(memory, own?.[1] ?? '');
  });
  if (interrupt !== null) setTimeout(() => process.kill(process.pid, 'SIGINT'), Number(interrupt)).unref();
}

if (speed !== 1) {
  const { now } = Date;
  const { setTimeout: delay } = timers;
  const since = now();
  Date.now = () => since + Math.round((now() - since) * speed);
  timers.setTimeout = (ms, ...others) => delay(ms / speed, ...others);
  syncBuiltinESMExports();
}
