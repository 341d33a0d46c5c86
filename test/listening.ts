import { once } from 'node:events';
import type { Server } from 'node:http';
import { onTestFinished } from 'vitest';

/** Has a server listen on a free port of loopback until the test ends; its address. */
export async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return `http://127.0.0.1:${address.port}`;
}
