import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Access, type HttpAnswer, answerHeaders } from '../../../src/core/http-server/answer.js';
import {
  type HttpServerOptions,
  type RunningHttpServer,
  startHttpServer,
} from '../../../src/core/http-server/http-server.js';

/** A server of answers until the test is over, and what it said. */
export async function startedServer(options: Partial<HttpServerOptions> = {}): Promise<{
  readonly server: RunningHttpServer;
  readonly accesses: readonly Access[];
  readonly faults: readonly unknown[];
}> {
  const accesses: Access[] = [];
  const faults: unknown[] = [];
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    clock: { now: () => 0 },
    hosts: undefined,
    answer: () => Promise.resolve(answered('{}')),
    onAccess: (access) => accesses.push(access),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, accesses, faults };
}

export function answered(body: string): HttpAnswer {
  return { status: 200, body, headers: answerHeaders(body, 'id', 0), delivery: 'whole' };
}

/** A connection until the test is over. */
export async function socketTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
}

/**
 * What comes back to bytes until the server ends the connection, or has said nothing for `quietMs` once the bytes are out:
 * '' where it only closed.
 */
export async function exchange(port: number, bytes: string | Buffer, quietMs = 30_000): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.setTimeout(quietMs, () => {
    socket.destroy();
  });
  socket.end(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

/** Statuses of all answers in what came back. */
export function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
