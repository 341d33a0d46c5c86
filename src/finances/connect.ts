import type { Clock } from '../clock.js';
import { createTransport } from '../http/agent.js';
import { TokenBucket } from '../quota/bucket.js';
import { RequestQueue } from '../quota/queue.js';
import { createFinancesClient } from './client.js';
import { operations, type OperationName } from './operations.js';
import { scanPage } from './page.js';
import { pagesOf } from './pages.js';
import { followUp } from './request-path.js';
import type { FinancesUpstream } from './upstream.js';

export interface ConnectionOptions {
  readonly endpoint: string;
  /** Of each operation, as long as the service names no other rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  readonly clock: Clock;
}

export interface Connection {
  readonly upstream: FinancesUpstream;
  close(): Promise<void>;
}

/** Requests of one operation under way at once: with answers of 10 s, half a request a second needs no more than five. */
const concurrency = 8;

/**
 * Connects to the service: one transport, and for each operation a queue with a bucket of its own.
 *
 * @throws LedgerlakeError USAGE for an endpoint, rate or burst that isn't one
 */
export function connectFinances({ endpoint, quota, clock }: ConnectionOptions): Connection {
  const queue = (): RequestQueue =>
    new RequestQueue({ concurrency, bucket: quota && new TokenBucket({ ...quota, clock }) });
  const names = Object.keys(operations) as OperationName[];
  const queues = Object.fromEntries(names.map((name) => [name, queue()])) as Record<OperationName, RequestQueue>;
  const transport = createTransport();
  const client = createFinancesClient({ endpoint, transport, queues });
  return {
    close: () => transport.close(),
    upstream: {
      pages: (operation, parameters, { priority, signal, counts }) =>
        pagesOf(
          async (token) => {
            counts.requests++;
            const asked = token === undefined ? parameters : followUp(operation, parameters, token);
            const { body } = await client.request(operation, asked, { priority, signal });
            counts.pages++;
            return scanPage(body);
          },
          (page) => page.nextToken,
        ),
    },
  };
}
