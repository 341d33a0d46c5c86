import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../app/lake-run.js';
import { freePort } from '../free-port.js';

/** A Redis of the test's own. */
export interface RedisServer {
  readonly url: string;
  /** Kills it, and starts it over what it had written. */
  restart(): Promise<void>;
}

/** Another server that speaks its protocol, such as `valkey-server`. */
const command = process.env['LEDGERLAKE_TEST_REDIS'] ?? 'redis-server';

/** Starts Redis on a free port of loopback, gone when the test ends. `settings`: as on its command line. */
export async function redisServer(settings: readonly string[] = ['--appendonly', 'yes']): Promise<RedisServer> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings];
  let server = await started(words);
  onTestFinished(() => killed(server));
  return {
    url: `redis://127.0.0.1:${port}`,
    restart: async () => {
      await killed(server);
      server = await started(words);
    },
  };
}

async function started(words: readonly string[]): Promise<ChildProcess> {
  const server = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let told = '';
  await new Promise<void>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (told.includes('Ready to accept connections')) resolve();
    });
    server.once('error', reject);
    server.once('exit', () => {
      reject(new Error(`${command} has ended: ${told}`));
    });
  });
  return server;
}

async function killed(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}
