import type { IncomingMessage } from 'node:http';

/** The operations have no request body: one is read past up to here, and beyond it the connection ends. */
const maxBodyBytes = 1024 * 1024;
/** Of a sign-in's body. */
const keptBodyBytes = 64 * 1024;

/** Reads a request's body as it comes in, whoever wants it; undefined once it is too long to keep. */
export function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received <= keptBodyBytes) chunks.push(chunk);
    if (received > maxBodyBytes) request.socket.destroy();
  });
  const body = new Promise<Buffer | undefined>((resolve, reject) => {
    request.once('end', () => {
      resolve(received > keptBodyBytes ? undefined : Buffer.concat(chunks));
    });
    request.once('error', reject);
  });
  // Most requests are answered without a look at it, and a client that breaks off mid-body has nothing to be told.
  body.catch(() => undefined);
  return body;
}
