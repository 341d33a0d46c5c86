import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listening } from '../listening.js';

interface Posted {
  readonly command: string;
  readonly status: string;
  readonly exit_code: number;
  readonly error?: object;
  readonly runs: readonly Readonly<Record<string, unknown>>[];
}

/** A switch that takes what is posted, and the address of `notify` for it. */
export async function deadMan(status = 200) {
  const posted: Posted[] = [];
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      posted.push(JSON.parse(body) as Posted);
      paths.push(request.url);
      response.writeHead(status).end();
    });
  });
  const url = await listening(server);
  return { environment: { LEDGERLAKE_NOTIFY: `${url}/secret-path/{exit_code}` }, posted, paths };
}
