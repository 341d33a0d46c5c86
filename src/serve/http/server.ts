import { messageOf, usageError } from '../../core/errors.js';
import type { Access } from '../../core/http-server/answer.js';
import { type RunningHttpServer, type ServerLimits, startHttpServer } from '../../core/http-server/http-server.js';
import { servedOperations } from '../served-apis.js';
import { type AnswerOptions, createAnswers } from './answers.js';
import { type Counts, RequestTally } from './counts.js';
import { parseTarget } from '../../core/http-server/host-rule.js';
import { isoInstant } from '../../core/numeric/instant.js';

export interface ApiServerOptions extends AnswerOptions {
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Port to listen on; default 0: any free port. */
  readonly port?: number | undefined;
  /** Accepted host names besides those of this machine and of the server itself; undefined: any name. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Receives each request once it has ended. */
  readonly onAccess?: ((access: Access) => void) | undefined;
}

export interface RunningApiServer extends RunningHttpServer {
  /** Counts since the start. */
  readonly counts: Counts;
}

/** Host names of the live service. */
const liveHostNames = /^(?:[a-z0-9-]+\.)*amazon\.com$/;

/**
 * Serves a backend as the Financial Events Service over HTTP (specification, sections 4 and 8) until it is closed.
 *
 * @throws LedgerlakeError USAGE where it can't listen on the address, and for a quota that is invalid
 */
export async function startApiServer(options: ApiServerOptions): Promise<RunningApiServer> {
  const { host = '127.0.0.1', port = 0, allowedHosts, limits, onAccess, onFault, clock } = options;
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw usageError(`expected a port from 0 (any free port) to 65535, got ${port}`);
  }
  const tally = new RequestTally();
  const server = await startHttpServer({
    host,
    port,
    limits,
    onAccess,
    onFault,
    clock,
    hosts: allowedHosts && {
      isAllowed: (name) => liveHostNames.test(name) || allowedHosts.includes(name),
      advice: 'serve --allow-host names others',
    },
    answer: createAnswers(options, tally),
    watch: tally,
  }).catch((error: unknown) => {
    throw usageError(`cannot listen on ${host}, port ${port}: ${messageOf(error)}; choose another host or port`);
  });
  return { ...server, counts: tally };
}

/** Parameters whose values aren't secret. */
const shownParameters = new Set(servedOperations.flatMap(({ parameters }) => parameters));

/** Length in characters beyond which a target is cut. */
const longestTarget = 300;

/**
 * A line of the access log, always a single one, without tokens and with `-` for missing parts:
 * `2026-01-31T12:00:00.000Z GET /finances/v0/financialEvents?PostedAfter=2026-01-01 200 12ms 4711B REQUEST-ID`.
 * `now`: milliseconds since 1970.
 */
export function accessLine({ method, target, status, ms, bytes, requestId }: Access, now: number): string {
  const size = bytes === undefined ? '-' : `${bytes}B`;
  const words = [isoInstant(now), method || '-', shownTarget(target) || '-', status || '-'];
  return [...words, `${Math.round(ms)}ms`, size, requestId].join(' ');
}

/** A target without the values of parameters that may be secret, and without characters that could forge a log line. */
function shownTarget(target: string): string {
  const { path, query } = parseTarget(target);
  const pairs = query.split('&').map((pair) => {
    const [name = ''] = pair.split('=', 1);
    return shownParameters.has(name) || !pair.includes('=') ? pair : `${name}=…`;
  });
  const shown = query === '' ? path : `${path}?${pairs.join('&')}`;
  const plain = shown.replaceAll(/[^\x21-\x7e…]/g, '?');
  return plain.length > longestTarget ? `${plain.slice(0, longestTarget)}…` : plain;
}
