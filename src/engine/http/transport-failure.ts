import { connectionFaultOf } from '../../core/connections/connection-fault.js';
import { LedgerlakeError, messageOf, systemCode } from '../../core/errors.js';

/** Error code of an answer that isn't complete in time. */
export const answerTimeout = 'ANSWER_TIMEOUT';

/** What happened and what to do, by the error codes of Node's sockets and of undici. */
const failures: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  ECONNREFUSED: ['it refuses connections', 'check the endpoint, and that the service runs there'],
  ENOTFOUND: ['there is no such host (DNS)', 'check the endpoint and the network'],
  EAI_AGAIN: ['the host name could not be looked up (DNS)', 'check the network'],
  EHOSTUNREACH: ['there is no route to the host', 'check the endpoint and the network'],
  ENETUNREACH: ['the network is unreachable', 'check the endpoint and the network'],
  ETIMEDOUT: ['the connection timed out', 'check the endpoint and the network'],
  UND_ERR_CONNECT_TIMEOUT: ['the connection was not established in time', 'check the endpoint and the network'],
  UND_ERR_HEADERS_TIMEOUT: ['it took too long to answer', 'try again later'],
  UND_ERR_BODY_TIMEOUT: ['its answer stalled for too long', 'try again later'],
  [answerTimeout]: ['its whole answer took too long', 'try again later'],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ['its answer was cut off', 'try again'],
  UND_ERR_SOCKET: ['it closed the connection', 'try again; if it persists, check the endpoint'],
  ECONNRESET: ['it closed the connection', 'try again; if it persists, check the endpoint'],
  EPIPE: ['it closed the connection', 'try again; if it persists, check the endpoint'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not speak TLS', 'check whether the endpoint should begin with http://'],
};

interface FailedRequest {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  /** The option or setting of the address, to check. */
  readonly addressOf: string;
}

/**
 * The error for the user where there is no complete answer: host and port, what happened, what to do. It contains no header of
 * the request, no user and no password.
 */
export function transportFailure(error: unknown, { origin, path, method, addressOf }: FailedRequest): LedgerlakeError {
  const { protocol, hostname, port } = new URL(origin);
  const host = `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
  const code = innermostCode(error);
  // A code from outside could be `valueOf`.
  const known = Object.hasOwn(failures, code) ? failures[code] : undefined;
  const fault = connectionFaultOf(error);
  const [what, todo] = known ?? (fault === undefined ? unknownFailure(code, error) : [fault.what, fault.todo]);
  const message = `cannot read from ${host}: ${what}; ${todo.replace('the endpoint', addressOf)}`;
  const details = `${method} ${path}\n${code}: ${messageOf(error)}`;
  return new LedgerlakeError('UPSTREAM_UNREACHABLE', message, { cause: error, details });
}

function unknownFailure(code: string, error: unknown): readonly [string, string] {
  if (code.startsWith('HPE_') || code === 'HTTPParserError')
    return ['the server there does not speak HTTP', 'check the endpoint'];
  return [`${messageOf(error)} (${code})`, 'check the endpoint and the network'];
}

/** Codes of an established connection without a complete answer. */
const interruptions: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  answerTimeout,
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_SOCKET',
  'ECONNRESET',
  'EPIPE',
]);

/** Whether an error of `failureOf` means that no connection that speaks HTTP was established. */
export function neverConnected(failure: LedgerlakeError): boolean {
  return failure.code === 'UPSTREAM_UNREACHABLE' && !interruptions.has(innermostCode(failure.cause));
}

/** The first code along the causes: undici wraps some errors, and Node those of a host with several addresses. */
function innermostCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return systemCode(error) ?? (error.cause === undefined ? error.name : innermostCode(error.cause));
}
