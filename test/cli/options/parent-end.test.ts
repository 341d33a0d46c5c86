import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** Starts the service as a child of a shell that stands for npx, and resolves to the shell and the service's address. */
async function servedUnder(npmCommand: string) {
  const script = `'${process.execPath}' '${resolve('dist/src/cli.js')}' serve --port 0 & echo $!; wait`;
  const shell = spawn('sh', ['-c', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, npm_command: npmCommand },
  });
  let text = '';
  for await (const chunk of shell.stdout) {
    text += String(chunk);
    const [, process_, address] = /^(\d+)\nlistening on (\S+)/.exec(text) ?? [];
    if (process_ !== undefined && address !== undefined) return { shell, pid: Number(process_), address };
  }
  throw new Error(`expected a service, got ${text}`);
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each([
  ['npx', 'exec', false],
  ['another parent', 'run-script', true],
])('the end of %s is the end of the service that it started, if it is npx', async (_, npmCommand, goesOn) => {
  const { shell, pid, address } = await servedUnder(npmCommand);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  shell.kill('SIGKILL');
  await once(shell, 'exit');
  if (goesOn) {
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
    return;
  }
  // It looks once a second.
  await expect.poll(() => isRunning(pid), { timeout: 20_000, interval: 200 }).toBe(false);
});
