// Loaded into a run before anything else. The process kills itself, as `kill -9` would, right before or after one of its
// steps on the disk: LEDGERLAKE_TEST_KILL_AT is the number of the step, from 1 on, with `-` in front for before it. Or it
// never comes back from the step LEDGERLAKE_TEST_STALL_AT. Its clock stands at LEDGERLAKE_TEST_NOW, where that is given.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const killAt = Number(process.env['LEDGERLAKE_TEST_KILL_AT'] ?? 0);
const stallAt = Number(process.env['LEDGERLAKE_TEST_STALL_AT'] ?? 0);
let steps = 0;

const now = Date.parse(process.env.LEDGERLAKE_TEST_NOW ?? '');
if (!Number.isNaN(now)) Date.now = () => now;

function counted(step) {
  return async function (...given) {
    steps += 1;
    const own = steps;
    if (own === -killAt) process.kill(process.pid, 'SIGKILL');
    if (own === stallAt) await standStill();
    try {
      return await step.apply(this, given);
    } finally {
      // Also behind a step that fails: a file may be there already.
      if (own === killAt) process.kill(process.pid, 'SIGKILL');
    }
  };
}

function standStill() {
  fs.writeSync(2, 'standing still\n');
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.once(signal, () => fs.writeSync(2, 'standing still, told to stop\n'));
  // Something to wait for, as a disk that doesn't answer would be.
  setInterval(() => undefined, 60_000);
  return new Promise(() => undefined);
}

const handle = Object.getPrototypeOf(await fs.promises.open('/dev/null'));
for (const name of ['writeFile', 'sync']) handle[name] = counted(handle[name]);
for (const name of ['rename', 'link', 'unlink', 'mkdir']) fs.promises[name] = counted(fs.promises[name]);
syncBuiltinESMExports();

process.on('exit', () => {
  fs.writeSync(2, `\nsteps on the disk: ${steps}\n`);
});
