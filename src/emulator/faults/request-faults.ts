import { limits } from '../../sources/finances/api-v0/operations.js';
import type { Delivery, HttpAnswer } from '../../core/http-server/answer.js';
import {
  accessTokenExpired,
  denied,
  overQuota,
  refused,
  tokenExpired,
  type Outcome,
} from '../../serve/http/outcome.js';
import type { CheckedRequest } from '../../serve/http/served-operation.js';
import type { LedgerItem, LedgerPage } from '../../serve/http/ledger.js';
import { HttpRefusal } from '../../core/http-server/refusal.js';
import {
  faultlessPage,
  type FaultRequest,
  type RequestFaults,
  type RequestIdentity,
  type SentPage,
} from '../../serve/http/fault-injection.js';
import type { FaultKind } from './fault-settings.js';
import type { FaultInjector } from './fault-injector.js';
import { dayMs } from '../../core/windows.js';

const rateHeader = 'x-amzn-RateLimit-Limit';
const webPage =
  '<!DOCTYPE html>\n<html><head><title>Service</title></head><body><h1>Please try again later</h1></body></html>\n';

const html = (status: number): Outcome => ({ status, body: webPage, headers: { 'Content-Type': 'text/html' } });
const unanswered = (delivery: Delivery): Outcome => ({ status: 0, body: '', delivery });

/** The refusal for several causes, for which the live service has the same reason. */
function unexplained(): HttpRefusal {
  return new HttpRefusal(400, 'Request was not valid or data requested exceeds data retention period.');
}

const failed = () => new HttpRefusal(500, 'We encountered an internal error. Please try again.');
const unavailable = () => new HttpRefusal(503, 'The service is temporarily unavailable. Please try again.');

/** An error of the sign-in, whose body differs from the other operations' (RFC 6749, section 5.2). */
function signInError(status: number, error: string, description: string): Outcome {
  return { status, body: JSON.stringify({ error, error_description: description }) };
}

/** Whether a window of events is longer than `days`; a missing upper bound is the latest possible one. */
function isLongWindow({ chain }: CheckedRequest, days: number): boolean {
  const { operation, after, before, asOf } = chain;
  return (
    operation === 'ListFinancialEvents' &&
    after !== undefined &&
    (before ?? asOf - limits.marginMs) - after > days * dayMs
  );
}

/** Whether a range of posting dates is longer than `days`; a missing upper bound is the latest possible one. */
function isLongPosted({ chain: { after, before, asOf } }: CheckedRequest, days: number): boolean {
  return after !== undefined && (before ?? asOf) - after > days * dayMs;
}

/** Faults of earlier requests: expired tokens stay invalid, and the repetition of a refused request succeeds. */
class FaultMemory {
  /** Targets of requests that were refused once and pass the next time. */
  readonly refusedTargets = new Set<string>();
  readonly expiredTokens = new Set<string>();
  readonly expiredAccessTokens = new Set<string>();
}

/**
 * The faults of a service for each request. A request that meets one uses the quota, unless it is throttled, and has no
 * data where no page is sent.
 */
export function createRequestFaults(
  injector: FaultInjector,
): (request: FaultRequest, identity: RequestIdentity) => RequestFaults {
  const memory = new FaultMemory();
  return (request, identity) => new InjectedFaults(injector, request, identity, memory);
}

class InjectedFaults implements RequestFaults {
  readonly #injector: FaultInjector;
  readonly #request: FaultRequest;
  readonly #identity: RequestIdentity;
  readonly #memory: FaultMemory;

  constructor(injector: FaultInjector, request: FaultRequest, identity: RequestIdentity, memory: FaultMemory) {
    this.#injector = injector;
    this.#request = request;
    this.#identity = identity;
    this.#memory = memory;
  }

  throttled(): Outcome | undefined {
    if (this.#hits('throttled') || this.#hits('throttled-spell')) return refused(overQuota());
    if (!this.#hits('throttled-retry-after')) return undefined;
    const seconds = String(this.#injector.amount('throttled-retry-after'));
    return { ...refused(overQuota()), headers: { 'Retry-After': seconds } };
  }

  rate(): number | undefined {
    return this.#hits('rate-changed') ? this.#injector.amount('rate-changed') : undefined;
  }

  replacement(): Outcome | undefined {
    const isSignIn = this.#request.operation === 'SignIn';
    if (this.#hits('reset')) return unanswered('reset');
    if (this.#hits('no-answer')) return unanswered('never');
    if (this.#hits('server-error'))
      return isSignIn ? signInError(500, 'server_error', 'It failed.') : refused(failed());
    if (this.#hits('unavailable')) {
      return isSignIn ? signInError(503, 'temporarily_unavailable', 'Please try again later.') : refused(unavailable());
    }
    if (this.#hits('unavailable-html')) return html(503);
    if (this.#hits('html')) return html(200);
    if (this.#isAccessTokenExpired()) return refused(denied(accessTokenExpired));
    if (this.#hits('access-denied')) return refused(denied());
    return this.#isRefusedOnce() ? refused(unexplained()) : undefined;
  }

  isTokenSufficient(): boolean {
    return this.#hits('token-without-arguments');
  }

  check(checked: CheckedRequest): void {
    if (this.#isTokenExpired(checked.token)) throw tokenExpired(this.#injector.amount('token-expired'));
    this.#limit('page-limit', checked.chain.pageSize);
    this.#limit('chain-limit', checked.pages + 1);
    if (isLongWindow(checked, this.#injector.amount('window-limit')) && this.#hits('window-limit')) throw unexplained();
    if (checked.pages === 0) return;
    if (isLongPosted(checked, this.#injector.amount('deep-500')) && this.#hits('deep-500')) throw failed();
  }

  page({ chain, cursor, token, results }: CheckedRequest, page: LedgerPage): SentPage {
    if (chain.operation === 'ListFinancialEventsByGroupId') this.#limit('group-limit', results + page.items.length);
    if (this.#hits('empty-page')) return { items: [], next: { cursor } };
    if (this.#hits('page-twice')) return { items: page.items, next: { cursor } };
    const lacksGroups =
      chain.operation === 'ListFinancialEventGroups' && page.items.length > 0 && this.#hits('groups-missing');
    const sent = faultlessPage(lacksGroups ? { ...page, items: this.#withMissing(page.items) } : page);
    if (token !== undefined && this.#hits('token-loop')) return { ...sent, next: { token } };
    return {
      ...sent,
      ...(sent.next === undefined && this.#hits('null-token') && { lastToken: null }),
      ...(this.#hits('no-list') && { hasList: false }),
    };
  }

  checkBody(body: string): void {
    this.#limit('body-limit', Buffer.byteLength(body));
  }

  finish(answer: HttpAnswer): HttpAnswer {
    if (answer.delivery !== 'whole') return answer;
    const { [rateHeader]: announced, ...others } = answer.headers;
    const headers = announced !== undefined && this.#hits('rate-missing') ? others : answer.headers;
    return { ...answer, headers, delivery: this.#delivery() };
  }

  #hits(kind: FaultKind): boolean {
    return this.#injector.hits(kind, this.#request);
  }

  #limit(kind: FaultKind, value: number): void {
    if (value > this.#injector.amount(kind) && this.#hits(kind)) throw unexplained();
  }

  #isRefusedOnce(): boolean {
    const { refusedTargets } = this.#memory;
    if (refusedTargets.delete(this.#identity.target) || !this.#hits('invalid-input')) return false;
    refusedTargets.add(this.#identity.target);
    return true;
  }

  #isTokenExpired(token: string | undefined): boolean {
    const { expiredTokens } = this.#memory;
    if (token === undefined) return false;
    if (!expiredTokens.has(token) && !this.#hits('token-expired')) return false;
    expiredTokens.add(token);
    return true;
  }

  #isAccessTokenExpired(): boolean {
    const { accessToken } = this.#identity;
    const { expiredAccessTokens } = this.#memory;
    if (accessToken !== undefined && expiredAccessTokens.has(accessToken)) return true;
    if (!this.#hits('access-token-expired')) return false;
    if (accessToken !== undefined) expiredAccessTokens.add(accessToken);
    return true;
  }

  /** The groups without about one in N, at least without the first one. */
  #withMissing(groups: readonly LedgerItem[]): readonly LedgerItem[] {
    const share = 1 / this.#injector.amount('groups-missing');
    const chance = ({ json }: LedgerItem) => this.#injector.chance('groups-missing', this.#request.number, json);
    const listed = groups.filter((group) => chance(group) >= share);
    return listed.length < groups.length ? listed : groups.slice(1);
  }

  #delivery(): Delivery {
    if (this.#hits('no-body')) return 'head-only';
    if (this.#hits('cut-body')) return 'cut';
    return this.#hits('wrong-length') ? 'too-long' : 'whole';
  }
}
