import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../commands/lake-run.js';

/** A Redis of the test's own. */
export interface RedisServer {
  readonly url: string;
  /** Kills it, and starts it over what it had written. */
  restart(): Promise<void>;
}

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
  const server = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let told = '';
  await new Promise<void>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (told.includes('Ready to accept connections')) resolve();
    });
    server.once('error', reject);
    server.once('exit', () => {
      reject(new Error(`redis-server has ended: ${told}`));
    });
  });
  return server;
}

async function killed(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return address.port;
}
