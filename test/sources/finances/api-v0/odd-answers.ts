import { createServer } from 'node:http';
import { listening } from '../../../listening.js';

/** What becomes of an answer's text on its way, by the path that was asked for; the same text: nothing. */
export type Mutation = (text: string, path: string) => string | { readonly status: number; readonly body: string };

/** A service whose answers go through a mutation on their way from another one; its address. */
export async function mutating(upstream: string, mutate: Mutation): Promise<string> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    void fetch(`${upstream}${path}`)
      .then(async (answer) => {
        const text = await answer.text();
        const mutated = answer.ok ? mutate(text, path) : text;
        const { status, body } = typeof mutated === 'string' ? { status: answer.status, body: mutated } : mutated;
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      })
      .catch(() => response.destroy());
  });
  return listening(server);
}
