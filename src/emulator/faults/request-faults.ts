import { limits } from '../../sources/finances/api-v0/operations.js';
import type { Delivery } from '../../core/http-server/answer.js';
import {
  type Outcome,
  refused,
  accessTokenExpired,
  denied,
  overQuota,
  tokenExpired,
} from '../../serve/http/outcome.js';
import type { PageRequest } from '../../serve/http/served-operation.js';
import type { LedgerItem } from '../../serve/http/ledger.js';
import { HttpRefusal } from '../../core/http-server/refusal.js';
import {
  shownPage,
  type FaultRequest,
  type RequestFaults,
  type RequestNames,
} from '../../serve/http/fault-injection.js';
import type { FaultKind } from './fault-settings.js';
import type { FaultInjector } from './fault-injector.js';
import { dayMs } from '../../core/windows.js';

const day = dayMs;
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
function isLongWindow({ chain }: PageRequest, days: number): boolean {
  const { operation, after, before, asOf } = chain;
  return (
    operation === 'ListFinancialEvents' &&
    after !== undefined &&
    (before ?? asOf - limits.marginMs) - after > days * day
  );
}

/** Whether a range of posting dates is longer than `days`; a missing upper bound is the latest possible one. */
function isLongPosted({ chain: { after, before, asOf } }: PageRequest, days: number): boolean {
  return after !== undefined && (before ?? asOf) - after > days * day;
}

/**
 * The faults of a service for each request. A request that meets one uses the quota, unless it is throttled, and has no
 * data where no page is sent.
 */
export function createRequestFaults(
  injector: FaultInjector,
): (request: FaultRequest, names: RequestNames) => RequestFaults {
  /** Targets of requests that were refused once and pass the next time. */
  const refusedOnce = new Set<string>();
  const deadTokens = new Set<string>();
  const deadAccessTokens = new Set<string>();

  return (request, { target, accessToken }) => {
    const hits = (kind: FaultKind) => injector.hits(kind, request);
    const limit = (kind: FaultKind, value: number) => {
      if (value > injector.amount(kind) && hits(kind)) throw unexplained();
    };

    function passingRefusal(): boolean {
      if (refusedOnce.delete(target) || !hits('invalid-input')) return false;
      refusedOnce.add(target);
      return true;
    }
    function isTokenDead(token: string | undefined): boolean {
      if (token === undefined) return false;
      if (!deadTokens.has(token) && !hits('token-expired')) return false;
      deadTokens.add(token);
      return true;
    }
    function isAccessTokenDead(): boolean {
      if (accessToken !== undefined && deadAccessTokens.has(accessToken)) return true;
      if (!hits('access-token-expired')) return false;
      if (accessToken !== undefined) deadAccessTokens.add(accessToken);
      return true;
    }
    function someLeftOut(items: readonly LedgerItem[]): readonly LedgerItem[] {
      const chance = (item: LedgerItem) => injector.chance('groups-missing', request.number, item.json);
      const left = items.filter((item) => chance(item) >= 1 / injector.amount('groups-missing'));
      return left.length < items.length ? left : items.slice(1);
    }

    return {
      throttled: () => {
        if (hits('throttled') || hits('throttled-spell')) return refused(overQuota());
        if (!hits('throttled-retry-after')) return undefined;
        const seconds = String(injector.amount('throttled-retry-after'));
        return { ...refused(overQuota()), headers: { 'Retry-After': seconds } };
      },
      rate: () => (hits('rate-changed') ? injector.amount('rate-changed') : undefined),
      instead: () => {
        const signIn = request.operation === 'SignIn';
        if (hits('reset')) return unanswered('reset');
        if (hits('no-answer')) return unanswered('never');
        if (hits('server-error')) return signIn ? signInError(500, 'server_error', 'It failed.') : refused(failed());
        if (hits('unavailable')) {
          return signIn
            ? signInError(503, 'temporarily_unavailable', 'Please try again later.')
            : refused(unavailable());
        }
        if (hits('unavailable-html')) return html(503);
        if (hits('html')) return html(200);
        if (isAccessTokenDead()) return refused(denied(accessTokenExpired));
        if (hits('access-denied')) return refused(denied());
        return passingRefusal() ? refused(unexplained()) : undefined;
      },
      isTokenEnough: () => hits('token-without-arguments'),
      check: (checked) => {
        if (isTokenDead(checked.token)) throw tokenExpired(injector.amount('token-expired'));
        limit('page-limit', checked.chain.pageSize);
        limit('chain-limit', checked.pages + 1);
        if (isLongWindow(checked, injector.amount('window-limit')) && hits('window-limit')) throw unexplained();
        if (checked.pages > 0 && isLongPosted(checked, injector.amount('deep-500')) && hits('deep-500')) throw failed();
      },
      page: (checked, page) => {
        const { chain, cursor, token, results } = checked;
        if (chain.operation === 'ListFinancialEventsByGroupId') limit('group-limit', results + page.items.length);
        if (hits('empty-page')) return { items: [], next: { cursor } };
        if (hits('page-twice')) return { items: page.items, next: { cursor } };
        const isListing = chain.operation === 'ListFinancialEventGroups';
        const isCut = isListing && page.items.length > 0 && hits('groups-missing');
        const shown = shownPage(isCut ? { ...page, items: someLeftOut(page.items) } : page);
        if (token !== undefined && hits('token-loop')) return { ...shown, next: { token } };
        return {
          ...shown,
          ...(shown.next === undefined && hits('null-token') && { lastToken: null }),
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
        let delivery: Delivery = 'whole';
        if (hits('no-body')) delivery = 'head-only';
        else if (hits('cut-body')) delivery = 'cut';
        else if (hits('wrong-length')) delivery = 'too-long';
        return { ...answer, headers, delivery };
      },
    };
  };
}
