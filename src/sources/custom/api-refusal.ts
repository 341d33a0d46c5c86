import type { Cause } from '../../engine/retry/cause.js';
import { excerpt, isHtml } from '../../engine/retry/excerpt.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { HttpAnswer } from '../../engine/http/transport.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import { called, definitionError } from './called.js';
import type { RefusalCause } from './definition.js';
import { JsonNode } from './json-node.js';
import type { LoadedDefinition } from './load-definitions.js';

/** UPSTREAM_STATUS of a user's API, with what it stands for. */
export class ApiRefusal extends LedgerlakeError {
  readonly standsFor: Cause;
  /** `retry-after` as it came. */
  readonly retryAfter: string | undefined;

  constructor(standsFor: Cause, retryAfter: string | undefined, message: string, status: number, details: string) {
    super('UPSTREAM_STATUS', message, { status, details });
    this.standsFor = standsFor;
    this.retryAfter = retryAfter;
  }
}

const causes: Readonly<Record<RefusalCause, Cause>> = {
  throttled: 'throttled',
  fault: 'fault',
  invalid: 'invalid',
  'too-large': 'too-large',
  'cursor-expired': 'token-expired',
  denied: 'denied',
  mistake: 'mistake',
};

const remedies: Readonly<Partial<Record<Cause, string>>> = {
  throttled: 'The quota is used up: try again later, or lower api.quota',
  fault: 'The API has a fault: try again later',
  denied: 'Check the headers that sign in, and what they give access to',
  stranger: 'It may not be the API that answers: check api.address',
};

/**
 * What a status other than 200 comes to.
 *
 * @param body what came, without our own secrets
 * @throws LedgerlakeError DEFINITION where the definition can't tell
 */
export function apiRefusal(
  { file, definition: { name, api } }: LoadedDefinition,
  { status, headers }: HttpAnswer,
  body: Uint8Array,
  request: string,
): ApiRefusal {
  const json = jsonOf(body);
  const header = (of: string): string | undefined => headers.get(of.toLowerCase());
  const told = called(file, 'api.causeOf', () => api.causeOf?.({ status, body: json, header }));
  if (told !== undefined && !Object.hasOwn(causes, told)) {
    const known = Object.keys(causes).join(', ');
    throw definitionError(file, 'api.causeOf', `expected one of ${known}, got ${JSON.stringify(told)}`);
  }
  const cause = told === undefined ? usualCause(status, body) : causes[told];
  const message = json && called(file, 'api.messageOf', () => api.messageOf?.(json));
  const text = excerpt(message ?? new TextDecoder().decode(body.subarray(0, 2048)), 500).replace(/\.$/, '');
  const remedy = remedies[cause] ?? 'Check what the definition asks for';
  return new ApiRefusal(
    cause,
    header('retry-after'),
    `${name} got status ${status}: ${text === '' ? 'an empty body' : text}. ${remedy}.`,
    status,
    `GET ${request}\n${new TextDecoder().decode(body.subarray(0, 2048))}`,
  );
}

function usualCause(status: number, body: Uint8Array): Cause {
  if (status === 429) return 'throttled';
  if (status >= 500 || status === 408) return 'fault';
  if (status < 400 || isHtml(body)) return 'stranger';
  if (status === 401 || status === 403) return 'denied';
  return status === 413 ? 'too-large' : 'mistake';
}

function jsonOf(body: Uint8Array): JsonNode | undefined {
  const tape = new Tape();
  try {
    scan(body, tape);
  } catch {
    // Not JSON: the message quotes the text itself.
    return undefined;
  }
  return new JsonNode(tape);
}
