import type { Transport, TransportRequest, HttpResponse } from '../../../src/engine/http/transport.js';
import { transportFailure } from '../../../src/engine/http/transport-failure.js';
import { currentProcess, currentWorld } from '../world/world.js';
import { networkOf, type WireAnswer } from '../world/network.js';

/* Replaces `src/engine/http/transport.ts`: requests go to the services of the simulation, without sockets. */

export const errorBytes = 1024 * 1024;

/** A transport of the current process. */
export function createTransport(): Transport {
  const world = currentWorld();
  const process = currentProcess();
  if (process === undefined) throw new Error('a request is of a process');
  const send = async ({ origin, path, signal, headers, body }: TransportRequest): Promise<HttpResponse> => {
    const method = body === undefined ? 'GET' : 'POST';
    signal.throwIfAborted();
    const end = process.call();
    if (end === 'dead') return never();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
    const sent = networkOf(world).send(process, { method, origin, path, headers, body: body ?? '' }, signal);
    if (end === 'last') return never();
    const answer: WireAnswer = await Promise.race([sent, aborted]);
    if (process.isDead) return never();
    if ('code' in answer) {
      const error = Object.assign(new Error(answer.code), { code: answer.code });
      throw transportFailure(error, { origin, path, method, addressOf: 'the endpoint' });
    }
    return answer;
  };
  return { send, close: () => Promise.resolve() };
}

function never(): Promise<never> {
  return new Promise<never>(() => undefined);
}
