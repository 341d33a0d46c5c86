import { operations as transactionOperations } from '../../sources/finances/api-2024-06-19/operations.js';
import { operations } from '../../sources/finances/api-v0/operations.js';
import { version } from '../../core/version.js';
import type { Outcome, SidePage } from './outcome.js';

/** What is served, as `/healthz` reports it. */
export type Health = Readonly<Record<string, unknown>>;

function json(status: number, body: Health): Outcome {
  return { status, body: JSON.stringify(body), headers: { 'Cache-Control': 'no-store' } };
}

/**
 * `/healthz`: 200 and what `look` finds, or 503 where it throws. Why stays in the log (`onFault`): whoever can reach the
 * service may ask.
 */
export function healthPage(look: () => Promise<Health>, onFault: (fault: unknown) => void): SidePage {
  return async () => {
    try {
      return json(200, { status: 'ok', version, ...(await look()) });
    } catch (fault) {
      onFault(fault);
      return json(503, { status: 'failing', version });
    }
  };
}

/** `/`: what answers here. It says nothing of any event: it is shown without a sign-in. */
export function frontPage(what: string, more = ''): SidePage {
  const paths = Object.values({ ...operations, ...transactionOperations }).map(({ path }) => `GET ${path}\n`);
  const body = `Ledgerlake ${version}: the Financial Events Service over ${what}.\n\n${paths.join('')}GET /healthz\n${more}`;
  return () => Promise.resolve({ status: 200, body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}

/**
 * `/` for people who may see all that is served: a page of HTML, or the plain one where `make` throws, whose reason goes to
 * `onFault`.
 */
export function reportPage(make: () => Promise<string>, what: string, onFault: (fault: unknown) => void): SidePage {
  const plain = frontPage(what, "\nThe report can't be shown: see the log of the service.\n");
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    // The page's own policy says all else: it can't say this.
    'Content-Security-Policy': "frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
  };
  return async () => {
    try {
      return { status: 200, body: await make(), headers };
    } catch (fault) {
      onFault(fault);
      return plain();
    }
  };
}
