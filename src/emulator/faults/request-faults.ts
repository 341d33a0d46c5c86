import { eventLimits } from '../../sources/finances/api-v0/operations.js';
import type { Delivery } from '../../core/http-server/answer.js';
import {
  accessTokenExpired,
  denied,
  overQuota,
  refused,
  tokenExpired,
  type Outcome,
} from '../../serve/operation/outcome.js';
import type { CheckedRequest } from '../../serve/operation/served-operation.js';
import { addressExpired, documentRefusal } from '../../serve/reports-2021-06-30/document-addresses.js';
import type { BackendItem } from '../../serve/operation/backend-page.js';
import { HttpRefusal } from '../../core/http-server/refusal.js';
import {
  faultlessPage,
  type FaultRequest,
  type RequestFaults,
  type RequestIdentity,
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

/** What a request is answered where the server fails, or is not available. */
function ownFailures(operation: FaultRequest['operation']): { readonly failure: Outcome; readonly pause: Outcome } {
  if (operation === 'SignIn') {
    return {
      failure: signInError(500, 'server_error', 'It failed.'),
      pause: signInError(503, 'temporarily_unavailable', 'Please try again later.'),
    };
  }
  if (operation === 'Download') {
    return {
      failure: documentRefusal(500, 'InternalError', 'We encountered an internal error. Please try again.'),
      pause: documentRefusal(503, 'SlowDown', 'Please reduce your request rate.'),
    };
  }
  return { failure: refused(failed()), pause: refused(unavailable()) };
}

/** Whether a window of events is longer than `days`; a missing upper bound is the latest possible one. */
function isLongWindow({ chain }: CheckedRequest, days: number): boolean {
  const { operation, after, before, asOf } = chain;
  return (
    operation === 'ListFinancialEvents' &&
    after !== undefined &&
    (before ?? asOf - eventLimits.marginMs) - after > days * dayMs
  );
}

/** Whether a range of posting dates is longer than `days`; a missing upper bound is the latest possible one. */
function isLongPosted({ chain: { after, before, asOf } }: CheckedRequest, days: number): boolean {
  return after !== undefined && (before ?? asOf) - after > days * dayMs;
}

/**
 * The faults of a server for each request. A request that meets one uses the quota, unless it is throttled, and has no
 * data where no page is sent.
 */
export function createRequestFaults(
  injector: FaultInjector,
): (request: FaultRequest, identity: RequestIdentity) => RequestFaults {
  // Expired tokens stay invalid, and the repetition of a refused request succeeds.
  const expiredTokens = new Set<string>();
  const expiredAccessTokens = new Set<string>();
  const refusedTargets = new Set<string>();

  return (request, { target, accessToken }) => {
    const hits = (kind: FaultKind) => injector.hits(kind, request);
    const limit = (kind: FaultKind, value: number) => {
      if (value > injector.amount(kind) && hits(kind)) throw unexplained();
    };
    const isRefusedOnce = () => {
      if (refusedTargets.delete(target) || !hits('invalid-input')) return false;
      refusedTargets.add(target);
      return true;
    };
    const isTokenExpired = (token: string | undefined) => {
      if (token === undefined) return false;
      if (!expiredTokens.has(token) && !hits('token-expired')) return false;
      expiredTokens.add(token);
      return true;
    };
    const isAccessTokenExpired = () => {
      if (accessToken !== undefined && expiredAccessTokens.has(accessToken)) return true;
      if (!hits('access-token-expired')) return false;
      if (accessToken !== undefined) expiredAccessTokens.add(accessToken);
      return true;
    };
    /** The groups without about one in N, at least without the first one. */
    const withMissing = (groups: readonly BackendItem[]): readonly BackendItem[] => {
      const share = 1 / injector.amount('groups-missing');
      const listed = groups.filter(({ json }) => injector.chance('groups-missing', request.number, json) >= share);
      return listed.length < groups.length ? listed : groups.slice(1);
    };

    return {
      throttled: () => {
        if (hits('throttled') || hits('throttled-spell')) return refused(overQuota());
        if (!hits('throttled-retry-after')) return undefined;
        const seconds = String(injector.amount('throttled-retry-after'));
        return { ...refused(overQuota()), headers: { 'Retry-After': seconds } };
      },
      rate: () => (hits('rate-changed') ? injector.amount('rate-changed') : undefined),
      replacement: () => {
        const { failure, pause } = ownFailures(request.operation);
        if (hits('reset')) return unanswered('reset');
        if (hits('no-answer')) return unanswered('never');
        if (hits('address-expired')) return addressExpired();
        if (hits('server-error')) return failure;
        if (hits('unavailable')) return pause;
        if (hits('unavailable-html')) return html(503);
        if (hits('html')) return html(200);
        if (isAccessTokenExpired()) return refused(denied(accessTokenExpired));
        if (hits('access-denied')) return refused(denied());
        return isRefusedOnce() ? refused(unexplained()) : undefined;
      },
      isTokenSufficient: () => hits('token-without-arguments'),
      check: (checked) => {
        if (isTokenExpired(checked.token)) throw tokenExpired(injector.amount('token-expired'));
        limit('page-limit', checked.chain.pageSize);
        limit('chain-limit', checked.pages + 1);
        if (isLongWindow(checked, injector.amount('window-limit')) && hits('window-limit')) throw unexplained();
        if (checked.pages === 0) return;
        if (isLongPosted(checked, injector.amount('deep-500')) && hits('deep-500')) throw failed();
      },
      page: ({ chain, cursor, token, results }, page) => {
        if (chain.operation === 'ListFinancialEventsByGroupId') limit('group-limit', results + page.items.length);
        if (hits('empty-page')) return { items: [], next: { cursor } };
        if (hits('page-twice')) return { items: page.items, next: { cursor } };
        const lacksGroups =
          chain.operation === 'ListFinancialEventGroups' && page.items.length > 0 && hits('groups-missing');
        const sent = faultlessPage(lacksGroups ? { ...page, items: withMissing(page.items) } : page);
        if (token !== undefined && hits('token-loop')) return { ...sent, next: { token } };
        return {
          ...sent,
          ...(sent.next === undefined && hits('null-token') && { lastToken: null }),
          ...(hits('no-list') && { hasList: false }),
        };
      },
      checkBody: (body) => {
        limit('body-limit', Buffer.byteLength(body));
      },
      finish: (answer) => {
        if (answer.delivery !== 'whole') return answer;
        const { [rateHeader]: announced, ...others } = answer.headers;
        const headers = announced !== undefined && hits('rate-missing') ? others : answer.headers;
        if (hits('no-body')) return { ...answer, headers, delivery: 'head-only' };
        if (hits('cut-body')) return { ...answer, headers, delivery: 'cut' };
        return { ...answer, headers, delivery: hits('wrong-length') ? 'too-long' : 'whole' };
      },
    };
  };
}
