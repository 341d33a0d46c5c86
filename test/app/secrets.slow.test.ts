import { startEmulator } from '../emulator/emulator.js';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import type { RunningApiServer } from '../../src/serve/http/server.js';
import type { Faults } from '../../src/emulator/faults/fault-settings.js';
import { runningClock } from '../running-clock.js';
import { secrets } from '../engine/auth/token-endpoint.js';
import { builtCommand, type Ended } from './built-command.js';
import { temporaryFolder } from './lake-run.js';

/** A service with a sign-in, and the access tokens that came to it. */
async function signedInServer(faults?: Faults): Promise<{ server: RunningApiServer; tokens: ReadonlySet<string> }> {
  const clock = runningClock('2026-03-20T12:00:00Z');
  const server = await startEmulator({
    backend: createSeller({ seed: 2, events: 400, profile: 'edge-cases' }, clock),
    clock,
    faults,
    signIn: { ...secrets, refreshTokens: [secrets.refreshToken] },
  });
  const tokens = new Set<string>();
  const seen = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage };
    const token = request.headers['x-amz-access-token'];
    if (request.socket.localPort === server.port && typeof token === 'string') tokens.add(token);
  };
  subscribe('http.server.request.start', seen);
  onTestFinished(async () => {
    unsubscribe('http.server.request.start', seen);
    await server.close();
  });
  return { server, tokens };
}

/** A backfill of the built command that signs in, by its configuration or its environment, from a folder of its own. */
async function backfill(
  { url }: RunningApiServer,
  place: 'configuration' | 'environment',
  own: Partial<typeof secrets> = {},
): Promise<Ended & { readonly folder: string }> {
  const folder = await temporaryFolder();
  const tokenEndpoint = `${url}/auth/o2/token`;
  const given = { ...secrets, ...own };
  if (place === 'configuration') {
    const accounts = { 'my-shop': { endpoint: url, tokenEndpoint, ...given } };
    await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify({ accounts }));
  }
  const environment = {
    LEDGERLAKE_ACCOUNT: 'my-shop',
    LEDGERLAKE_ENDPOINT: url,
    LEDGERLAKE_TOKEN_ENDPOINT: tokenEndpoint,
    LEDGERLAKE_CLIENT_ID: given.clientId,
    LEDGERLAKE_CLIENT_SECRET: given.clientSecret,
    LEDGERLAKE_REFRESH_TOKEN: given.refreshToken,
    LEDGERLAKE_LOG_FORMAT: 'json',
  };
  // A rate that is worth pacing, so that there are a journal and a quota file.
  const words = ['backfill', '--from', '2026-02-25', '--to', '2026-03-08', '--rate', '50', '--verbose', '--json'];
  words.push('--metrics-file', 'metrics.prom');
  const ended = await builtCommand(words, { folder, environment: place === 'environment' ? environment : {} });
  return { ...ended, folder };
}

/** Every byte that others may get to see: output, command line, and all files but the user's own. */
async function everythingOf({ out, err, commandLine, folder }: Ended & { readonly folder: string }): Promise<string[]> {
  const seen = [out, err, commandLine];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'ledgerlake.config.json') continue;
    seen.push(entry.name, await readFile(join(entry.parentPath, entry.name), 'latin1'));
  }
  return seen;
}

const wrong = { clientSecret: 'amzn1.oa2-cs.v1.a-wrong-one-that-nobody-may-see-either' };
const expired: Faults = { 'access-token-expired': { times: 2, when: ({ number }) => number % 3 === 0 } };

test.each<[string, 'configuration' | 'environment', Faults | undefined, Partial<typeof secrets>, number, RegExp]>([
  ['a run that ends well', 'configuration', undefined, {}, 0, /"status":"done"/],
  ['an access token that expires on the way', 'environment', expired, {}, 0, /"status":"done"/],
  ['a client secret that is wrong', 'configuration', undefined, wrong as Partial<typeof secrets>, 1, /client secret/],
  ['access that is denied', 'environment', { 'access-denied': {} }, {}, 1, /credentials/],
  [
    'access that is denied half-way',
    'configuration',
    { 'access-denied': { when: ({ number }) => number > 4 } },
    {},
    1,
    /credentials/,
  ],
  [
    'a web page at the sign-in',
    'environment',
    { html: { when: ({ operation }) => operation === 'SignIn', times: 2 } },
    {},
    0,
    /done/,
  ],
  [
    'a web page in place of pages',
    'configuration',
    { html: { when: ({ operation }) => operation !== 'SignIn' } },
    {},
    1,
    /web page/,
  ],
])('no secret gets out of %s', async (_what, place, faults, own, code, told) => {
  const { server, tokens } = await signedInServer(faults);
  const ended = await backfill(server, place, own);
  expect(ended.code, ended.err).toBe(code);
  expect(`${ended.out}${ended.err}`).toMatch(told);
  const texts = await everythingOf(ended);
  expect(texts).toContain('metrics.prom');
  if (process.platform === 'linux') expect(ended.commandLine).toContain('backfill');
  expect(tokens.size > 0).toBe(own.clientSecret === undefined);
  for (const secret of [...Object.values({ ...secrets, ...own }), ...tokens, 'Atza|', 'Atzr|']) {
    const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=*$/, '')];
    for (const form of forms)
      expect(
        texts.some((text) => text.includes(form)),
        form,
      ).toBe(false);
  }
});
