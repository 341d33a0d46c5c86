import { version } from '../../core/version.js';
import { servedOperations } from '../served-apis.js';
import type { Outcome, SidePage } from '../operation/outcome.js';

/** The state of the server, as reported by `/healthz`. */
export type Health = Readonly<Record<string, unknown>>;

function json(status: number, body: Health): Outcome {
  return { status, body: JSON.stringify(body), headers: { 'Cache-Control': 'no-store' } };
}

/**
 * The page `/healthz`: 200 with the result of `checkHealth`, or 503 where it throws. The reason goes to `onFault` alone, as
 * anyone who can reach the server may read the page.
 */
export function healthPage(checkHealth: () => Promise<Health>, onFault: (fault: unknown) => void): SidePage {
  return async () => {
    try {
      return json(200, { status: 'ok', version, ...(await checkHealth()) });
    } catch (fault) {
      onFault(fault);
      return json(503, { status: 'failing', version });
    }
  };
}

/** The page `/`, which names the server and its paths. It contains nothing of any event, as it needs no sign-in. */
export function frontPage(backendName: string, notice = ''): SidePage {
  const paths = servedOperations.map(({ path }) => `GET ${path}\n`);
  const body = `Ledgerlake ${version}: the Financial Events Service over ${backendName}.\n\n${paths.join('')}GET /healthz\n${notice}`;
  return () => Promise.resolve({ status: 200, body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}

/**
 * The page `/` for callers who may see all data: HTML, or the plain page where `createReport` throws, with the reason passed to
 * `onFault`.
 */
export function reportPage(
  createReport: () => Promise<string>,
  backendName: string,
  onFault: (fault: unknown) => void,
): SidePage {
  const plain = frontPage(backendName, "\nThe report can't be shown: see the log of the server.\n");
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    // The policy in the page's `meta` element can't contain `frame-ancestors`.
    'Content-Security-Policy': "frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
  };
  return async () => {
    try {
      return { status: 200, body: await createReport(), headers };
    } catch (fault) {
      onFault(fault);
      return plain();
    }
  };
}
