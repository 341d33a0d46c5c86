import { operations } from '../finances/operations.js';
import { version } from '../version.js';
import type { Outcome, SidePage } from './answer.js';

/** What is served, as `/healthz` tells it. */
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
export function frontPage(what: string): SidePage {
  const paths = Object.values(operations).map(({ path }) => `GET ${path}\n`);
  const body = `Ledgerlake ${version}: the Financial Events Service over ${what}.\n\n${paths.join('')}GET /healthz\n`;
  return () => Promise.resolve({ status: 200, body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}
