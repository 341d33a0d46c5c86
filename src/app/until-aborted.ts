import { once } from 'node:events';

/** Resolves once a signal has aborted, also where it has by now: then no event comes any more. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
