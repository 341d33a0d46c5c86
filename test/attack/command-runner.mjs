// Runs one command line after another, as the command itself would, in one process: a new one for each would take most of
// the time. What nobody catches ends the process, as it would end the command.
import { readFileSync, writeFileSync } from 'node:fs';
import { runCommandLine } from '../../dist/src/command-line.js';

/** Both outputs of the command that runs, as far as they are kept: a flood is a finding of its own. */
const texts = { out: '', err: '' };
const most = 2_000_000;

for (const [name, stream] of [
  ['out', process.stdout],
  ['err', process.stderr],
]) {
  stream.write = (chunk, ...others) => {
    if (texts[name].length < most) texts[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    others.findLast((other) => typeof other === 'function')?.();
    return true;
  };
}

/** Megabytes of memory: now (`VmRSS`), or at most since the peak was set back (`VmHWM`); 0 where the system doesn't say. */
function megabytes(name) {
  if (process.platform !== 'linux') return 0;
  const [, kilobytes = '0'] = new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

let before = 0;

/** Also what dies leaves what it has said. */
function answer(more) {
  const grown = megabytes('VmHWM') - before;
  process.send?.({ code: process.exitCode ?? 0, ...texts, megabytes: grown, ...more });
}

process.on('message', (words) => {
  texts.out = '';
  texts.err = '';
  process.exitCode = undefined;
  // The peak is set back (proc(5), `clear_refs`).
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
  before = megabytes('VmRSS');
  const { signal } = new AbortController();
  void runCommandLine(words, { signal, extendGrace: () => undefined }).then(async () => {
    // What was thrown beside the command's own promises comes to light a moment later.
    await new Promise((resolve) => setTimeout(resolve, 2));
    process.stdout.removeAllListeners('error');
    answer({ died: false });
  });
});
process.on('uncaughtExceptionMonitor', (error) => {
  texts.err += `uncaught: ${error?.stack ?? String(error)}\n`;
  process.exitCode = 1;
  answer({ died: true });
});
