import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import {
  pagedRequests,
  type ApiClientOptions,
  type RequestOptions,
  type RequestPage,
} from '../../../src/engine/paging/api-client.js';
import type { PagedApi } from '../../../src/engine/paging/paged-api.js';
import { createTransport, type TransportOptions } from '../../../src/engine/http/transport.js';
import { RetryPolicy, type RetryPolicyOptions } from '../../../src/engine/retry/retry-policy.js';
import { financesV0 } from '../../../src/sources/finances/api-v0/finances-api.js';
import type { CountedPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import type { EventQuery } from '../../../src/sources/finances/api-v0/request-path.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer, type Recorded, type RecordingServer } from '../http/recording-server.js';

/** What is sent back to one request: an answer, or what goes wrong with it. */
export type Scripted =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'reset'
  | 'cut off'
  | 'silence'
  | 'half a body, then silence';

export const emptyPage = { body: '{"payload":{"FinancialEvents":{}}}' };

/** The service's errors. */
export function refusal(
  status: number,
  code: string,
  message: string,
  more: { headers?: Record<string, string> } = {},
) {
  return { status, body: JSON.stringify({ errors: [{ code, message, details: '' }] }), ...more };
}

export const invalidInput = (message: string) => refusal(400, 'InvalidInput', message);

export function send(scripted: Scripted, response: ServerResponse): void {
  // Node's own would be the time of the machine, not of the test's clock.
  response.sendDate = false;
  if (scripted === 'silence') return;
  if (scripted === 'reset') response.socket?.resetAndDestroy();
  else if (typeof scripted === 'string') {
    response.writeHead(200, { 'content-length': 100 }).write('{"payload":', () => {
      if (scripted === 'cut off') response.socket?.destroy();
    });
  } else response.writeHead(scripted.status ?? 200, scripted.headers).end(scripted.body ?? '');
}

export type FinancesApi = PagedApi<EventQuery, CountedPage>;

export interface Setup extends RequestOptions {
  readonly server: RecordingServer;
  readonly clock: HandClock;
  readonly api: FinancesApi;
  readonly request: RequestPage<EventQuery, CountedPage>;
  readonly counts: { requests: number; retries: number; throttled: number; pages: number };
  readonly stop: AbortController;
  readonly requestOptions: RequestOptions;
}

export interface SetupOptions extends Partial<Omit<RetryPolicyOptions, 'clock'>>, Pick<RequestOptions, 'emit'> {
  readonly client?: Partial<ApiClientOptions<EventQuery, CountedPage>>;
  readonly transport?: TransportOptions;
  /** User and password of the endpoint: `user:password@`. */
  readonly login?: string;
}

export const start = Date.parse('2025-07-01T12:00:00Z');
export const day = 86_400_000;

/** The operation that is asked most, and a week of it. */
export const events = 'ListFinancialEvents';
export const week = { PostedAfter: start - 8 * day, PostedBefore: start - day };

/** A service that answers as a function says, and what asks it again and again, on a clock moved by hand. */
export async function setup(
  answer: (number: number, request: Recorded) => Scripted,
  { login = '', ...options }: SetupOptions = {},
): Promise<Setup> {
  const server = await recordingServer((request, response, number) => {
    send(answer(number, request), response);
  });
  return connected(server, server.origin.replace('//', `//${login}`), options);
}

/** The same for a service that runs already, or doesn't. */
export function connected(
  server: RecordingServer,
  endpoint: string,
  { client, transport, emit, ...options }: Omit<SetupOptions, 'login'> = {},
): Setup {
  const clock = new HandClock(start);
  const wire = createTransport(transport);
  onTestFinished(() => wire.close());
  const api = financesV0.paged({ endpoint, quota: undefined, cursorLifeMs: 180_000 });
  const policy = new RetryPolicy({ clock, random: () => 0.5, ...options });
  const stop = new AbortController();
  const counts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const requestOptions = { counts, emit, signal: stop.signal, priority: 0 };
  return {
    ...requestOptions,
    requestOptions,
    server,
    clock,
    api,
    request: pagedRequests({ api, transport: wire, clock, ...client, policy }),
    stop,
  };
}
