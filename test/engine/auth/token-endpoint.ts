import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { Secret } from '../../../src/engine/auth/secret.js';
import type { SignIn } from '../../../src/engine/auth/token-request.js';
import { listening } from '../../listening.js';

/** Secrets that nothing else holds, so that a search for them finds leaks and nothing else. */
export const secrets = {
  clientId: 'amzn1.application-oa2-client.0c7f1d5e9b3a4c68',
  clientSecret: 'amzn1.oa2-cs.v1.5d41402abc4b2a76b9719d911017c592',
  refreshToken: 'Atzr|IwEBIKz7-refresh-q83vL_unmistakable-0451',
} as const;

export interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TokenEndpoint {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** How many requests were broken off by their sender. */
  readonly abandoned: number;
}

/** The token that the endpoint issues to the n-th request. */
export function tokenOf(number: number): string {
  return `Atza|access-${number}-nobody-may-see-this`;
}

export function issued(number: number, seconds = 3600): Reply {
  const body = {
    access_token: tokenOf(number),
    token_type: 'bearer',
    expires_in: seconds,
    refresh_token: 'Atzr|other',
  };
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** A token endpoint on a free port for the time of one test. `number`: of the request, from 1. */
export async function tokenEndpoint(
  answer: (asked: Asked, number: number) => Reply | Promise<Reply> = (_, number) => issued(number),
): Promise<TokenEndpoint> {
  const asked: Asked[] = [];
  let abandoned = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const one = {
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: await text(request),
      };
      asked.push(one);
      response.on('close', () => {
        if (!response.writableFinished) abandoned++;
      });
      const { status = 200, headers = {}, body } = await answer(one, asked.length);
      response.writeHead(status, headers).end(body);
    })();
  });
  const origin = await listening(server);
  return {
    url: `${origin}/auth/o2/token`,
    asked,
    get abandoned() {
      return abandoned;
    },
  };
}

/** Sign-in settings with the secrets above. */
export function signInAt(url: string): SignIn {
  return {
    account: 'my-shop',
    tokenEndpoint: url,
    clientId: new Secret(secrets.clientId),
    clientSecret: new Secret(secrets.clientSecret),
    refreshToken: new Secret(secrets.refreshToken),
  };
}
