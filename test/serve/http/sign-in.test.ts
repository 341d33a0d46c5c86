import { describe, expect, test } from 'vitest';
import { startApiServer } from '../../../src/serve/http/server.js';
import { IssuedAccessTokens } from '../../../src/serve/operation/signed-tokens.js';
import type { SignInOptions } from '../../../src/serve/http/sign-in.js';
import { arrayBackend, event } from './array-backend.js';
import { paths, start, startClient } from './client.js';
import { gate } from './gate.js';
import { handClock } from './hand-clock.js';

const signIn = { clientId: 'amzn1.application-oa2-client.1', clientSecret: 'amzn1.oa2-cs.v1.hidden' };
const right = {
  grant_type: 'refresh_token',
  refresh_token: 'Atzr|one',
  client_id: signIn.clientId,
  client_secret: signIn.clientSecret,
};
const path = '/auth/o2/token';

interface Granted {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
}

async function signedIn(more: Partial<SignInOptions> = {}, options: Parameters<typeof startClient>[1] = {}) {
  const client = await startClient([event('2025-06-01', 1)], { ...options, signIn: { ...signIn, ...more } });
  const post = async (body: string | URLSearchParams, type?: string) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    const response = await fetch(client.server.url + path, { method: 'POST', body, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const postJson = (body: object) => post(JSON.stringify(body), 'application/json');
  const token = async (refreshToken = right.refresh_token) =>
    (JSON.parse((await postJson({ ...right, refresh_token: refreshToken })).text) as Granted).access_token;
  const get = (accessToken?: string) =>
    client.raw(paths.events, accessToken === undefined ? {} : { headers: { 'x-amz-access-token': accessToken } });
  return { ...client, post, postJson, token, get };
}

describe('the sign-in', () => {
  test.each(['form', 'json'] as const)('gives an access token for a refresh token: %s', async (kind) => {
    const { post, postJson, get } = await signedIn();
    const reply = kind === 'json' ? await postJson(right) : await post(new URLSearchParams(right));
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.has('x-amzn-ratelimit-limit')).toBe(false);
    const granted = JSON.parse(reply.text) as Granted;
    expect(granted).toMatchObject({ token_type: 'bearer', expires_in: 3600 });
    expect(granted.access_token).toMatch(/^Atza\|[\w-]{40,}$/);
    expect((await get(granted.access_token)).ids).toEqual([1]);
  });

  test.each<[string, Record<string, string>, number, string]>([
    ['another client', { client_id: 'other' }, 401, 'invalid_client'],
    ['another secret', { client_secret: 'other' }, 401, 'invalid_client'],
    ['another grant', { grant_type: 'authorization_code' }, 400, 'unsupported_grant_type'],
    ['no grant', { grant_type: '' }, 400, 'invalid_request'],
    ['no client', { client_id: '' }, 400, 'invalid_request'],
    ['no secret', { client_secret: '' }, 400, 'invalid_request'],
    ['no refresh token', { refresh_token: '' }, 400, 'invalid_request'],
    ['a refresh token that is not taken', { refresh_token: 'Atzr|two' }, 400, 'invalid_grant'],
  ])('%s: refused, and nothing of what came is said', async (_what, wrong, status, error) => {
    const { post, postJson } = await signedIn({ refreshTokens: ['Atzr|one', 'Atzr|three'] });
    const body = { ...right, ...wrong };
    for (const reply of [await postJson(body), await post(new URLSearchParams(body))]) {
      expect(reply.status).toBe(status);
      expect(JSON.parse(reply.text)).toEqual({ error, error_description: expect.stringMatching(/\w/) as string });
      for (const secret of [signIn.clientSecret, signIn.clientId, right.refresh_token, 'Atzr|two', 'other']) {
        expect(reply.text).not.toContain(secret);
      }
    }
  });

  test('attempts after a failure wait, right or wrong, and are not slower for ever', async () => {
    const { postJson, clock } = await signedIn();
    const waited = async (more: object) => {
      const began = clock.now();
      const { status } = await postJson({ ...right, ...more });
      return [status, clock.now() - began];
    };
    expect(await waited({})).toEqual([200, 0]);
    const wrong = { client_secret: 'other' };
    const waits = [];
    for (let tries = 0; tries < 7; tries++) waits.push(await waited(wrong));
    expect(waits.map(([status]) => status)).toEqual(Array.from({ length: 7 }, () => 401));
    expect(waits.map(([, ms]) => ms)).toEqual([0, 250, 500, 1000, 2000, 4000, 4000]);
    expect(await waited({})).toEqual([200, 4000]);
    expect(await waited({})).toEqual([200, 0]);
    expect(await waited(wrong)).toEqual([401, 0]);
    clock.move(60_001);
    expect(await waited(wrong)).toEqual([401, 0]);
  });

  test('of many attempts at once after a failure few are looked at, however they end', async () => {
    const held = gate<undefined>();
    const clock = { ...handClock(start), sleep: () => held.opened.then(() => undefined) };
    const { postJson } = await signedIn({}, { clock });
    expect((await postJson({ ...right, client_id: 'other' })).status).toBe(401);
    const attempts = Array.from({ length: 50 }, () => postJson(right));
    let refused = 0;
    const all = attempts.map(async (attempt) => {
      const reply = await attempt;
      if (reply.status === 429 && ++refused === 42) held.open(undefined);
      return reply;
    });
    const replies = await Promise.all(all);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(8);
    const late = replies.find(({ status }) => status === 429);
    expect(late?.headers.get('retry-after')).toBe('4');
    expect(JSON.parse(late?.text ?? '')).toMatchObject({ error: 'temporarily_unavailable' });
  });

  test('a body that is none, or too long: invalid_request', async () => {
    const { post, postJson } = await signedIn();
    for (const reply of [
      await post('{"a"', 'application/json'),
      await postJson({ ...right, x: 'x'.repeat(70_000) }),
      await postJson({ ...right, x: 'x'.repeat(5_000_000) }),
    ]) {
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.text)).toMatchObject({ error: 'invalid_request' });
    }
  });

  test('takes POST alone', async () => {
    const { raw } = await signedIn();
    const reply = await raw(path);
    expect(reply).toMatchObject({ status: 405, code: 'MethodNotAllowed' });
    expect(reply.headers.get('allow')).toBe('POST');
  });

  test('is not there unless it is set up', async () => {
    const { raw } = await startClient([]);
    expect((await raw(path, { method: 'POST', body: new URLSearchParams(right) })).status).toBe(404);
  });

  test('meets faults too, in its own form', async () => {
    const faults = { 'server-error': { times: 1 }, unavailable: { times: 1 } };
    const { postJson, token, get, server } = await signedIn({}, { faults });
    expect(JSON.parse((await postJson(right)).text)).toMatchObject({ error: 'server_error' });
    expect(JSON.parse((await postJson(right)).text)).toMatchObject({ error: 'temporarily_unavailable' });
    expect((await get(await token())).status).toBe(200);
    expect(server.counts.requests('SignIn')).toBe(3);
    expect(server.counts.requests('SignIn', 503)).toBe(1);
  });

  test.each([{ clientId: '' }, { clientSecret: '' }, { accessTokenLifeMs: 0 }])('%j can not be', async (wrong) => {
    const options = { backend: arrayBackend([]), clock: handClock(start), signIn: { ...signIn, ...wrong } };
    await expect(startApiServer(options)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('every operation', () => {
  const denied = (details: string) => ({
    errors: [{ code: 'Unauthorized', message: 'Access to requested resource is denied.', details }],
  });
  const order = '902-1845936-5435065';

  test('asks for an access token', async () => {
    const { raw, token } = await signedIn();
    const accessToken = await token();
    for (const target of [paths.events, paths.groups, paths.ofGroup('G'), paths.ofOrder(order)]) {
      const reply = await raw(target);
      expect(reply.status).toBe(403);
      expect(reply.body).toEqual(denied('Access token is missing in the request header.'));
      const headers = { 'x-amz-access-token': accessToken };
      expect([200, 404]).toContain((await raw(target, { headers })).status);
    }
  });

  test('refuses one that was not issued, or was changed', async () => {
    const { get, token } = await signedIn();
    const good = await token();
    const changed = Array.from(
      good,
      (letter, index) => good.slice(0, index) + (letter === 'A' ? 'B' : 'A') + good.slice(index + 1),
    );
    for (const wrong of ['x', 'Atza|', good.slice(0, -1), `${good}A`, good.slice(5), ...changed]) {
      const reply = await get(wrong);
      expect(reply.status).toBe(403);
      expect(reply.body).toEqual(denied('The access token you provided is revoked, malformed or invalid.'));
      expect(reply.text).not.toContain(wrong.length > 8 ? wrong : 'Atza');
    }
    expect((await get(good)).status).toBe(200);
  });

  test('refuses one that has expired, and says so', async () => {
    const { get, token, clock, postJson } = await signedIn({ accessTokenLifeMs: 90_000 });
    expect(JSON.parse((await postJson(right)).text)).toMatchObject({ expires_in: 90 });
    const old = await token();
    clock.move(89_999);
    expect((await get(old)).status).toBe(200);
    clock.move(1);
    expect((await get(old)).body).toEqual(denied('The access token you provided has expired.'));
    expect((await get(await token())).status).toBe(200);
  });

  test('does not count who may not ask for the quota', async () => {
    const { get, token } = await signedIn({}, { quota: { rate: 0.5, burst: 1 } });
    for (let tries = 0; tries < 3; tries++) expect((await get()).status).toBe(403);
    const accessToken = await token();
    expect((await get(accessToken)).status).toBe(200);
    expect((await get(accessToken)).status).toBe(429);
  });

  test('has a quota for each account, whichever of its access tokens comes', async () => {
    const { get, token } = await signedIn({}, { quota: { rate: 0.5, burst: 2 } });
    for (const refreshToken of ['Atzr|one', 'Atzr|two']) {
      expect((await get(await token(refreshToken))).status).toBe(200);
      expect((await get(await token(refreshToken))).status).toBe(200);
      expect((await get(await token(refreshToken))).status).toBe(429);
    }
  });
});

test('a quota of the whole service counts the requests of all tokens', async () => {
  const { get, token } = await signedIn({}, { quota: { rate: 0.5, burst: 3 }, quotaOf: 'server' });
  const statuses = [];
  for (let n = 0; n < 5; n++) statuses.push((await get(await token(`Atzr|${n}`))).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

test('access tokens are all different, and those of another key are unknown', () => {
  const tokens = new IssuedAccessTokens(1_000, 'key');
  const issued = Array.from({ length: 50 }, () => tokens.issue(5, 'Atzr|one'));
  expect(new Set(issued).size).toBe(50);
  for (const token of issued) {
    expect(tokens.check(token, 1_004)).toBe('valid');
    expect(new IssuedAccessTokens(1_000, 'key').check(token, 1_005)).toBe('expired');
    expect(new IssuedAccessTokens(1_000, 'other').check(token, 5)).toBe('unknown');
  }
});

test('access tokens tell accounts apart, and nothing of their refresh tokens', () => {
  const tokens = new IssuedAccessTokens(1_000, 'key');
  const accounts = ['Atzr|one', 'Atzr|one', 'Atzr|two'].map((one) => tokens.accountOf(tokens.issue(5, one)));
  expect(accounts[0]).toBe(accounts[1]);
  expect(accounts[0]).not.toBe(accounts[2]);
  const other = new IssuedAccessTokens(1_000, 'other');
  expect(other.accountOf(other.issue(5, 'Atzr|one'))).not.toBe(accounts[0]);
});
