import { once } from 'node:events';
import { startService, type ServiceOptions } from '../service/server.js';

export interface ServeOptions {
  readonly service: ServiceOptions;
  /** Ends the service when it aborts. */
  readonly signal: AbortSignal;
  /** Takes each line of standard output, without its line end. */
  readonly print: (line: string) => void;
}

/**
 * Serves until the signal aborts, then finishes the requests that are running and resolves. The first line printed is
 * `listening on http://HOST:PORT`, once requests are taken. Throws a USAGE error when it can't listen there.
 */
export async function serve({ service, signal, print }: ServeOptions): Promise<void> {
  if (signal.aborted) return;
  const running = await startService(service);
  try {
    print(`listening on ${running.url}`);
    // It may have aborted while the service started, and then no event comes any more.
    if (!isAborted(signal)) await once(signal, 'abort');
  } finally {
    await running.close();
  }
}

/** As a call, because the compiler takes a checked property to stay as it was. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
