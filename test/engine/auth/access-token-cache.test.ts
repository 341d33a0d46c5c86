import fc from 'fast-check';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { createTransport, type Transport } from '../../../src/engine/http/transport.js';
import { RetryPolicy, type FailedAttempt } from '../../../src/engine/retry/retry-policy.js';
import { createAccessTokens, type AccessTokens } from '../../../src/engine/auth/access-token-cache.js';
import { HandClock, settled } from '../../core/clock.js';
import { issued, secrets, signInAt, tokenEndpoint, tokenOf, type Reply, type TokenEndpoint } from './token-endpoint.js';
import { failureOf } from '../../failure-of.js';

const never = new AbortController().signal;

function transport(): Transport {
  const made = createTransport({ headersTimeoutMs: 5000 });
  onTestFinished(() => made.close());
  return made;
}

function tokensOf({ url }: TokenEndpoint, clock = new HandClock()): AccessTokens {
  return createAccessTokens({ ...signInAt(url), transport: transport(), clock, policy: policyOf(clock) });
}

function policyOf(clock: HandClock, random = 1): RetryPolicy {
  return new RetryPolicy({ clock, random: () => random });
}

/** A gate that lets an answer out. */
function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return {
    open: () => {
      open();
    },
    passed,
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await systemClock.sleep(5);
}

test('the refresh token is exchanged with a JSON body, and the answer is kept', async () => {
  const endpoint = await tokenEndpoint();
  const tokens = tokensOf(endpoint);
  expect(await tokens.current(never)).toBe(tokenOf(1));
  expect(await tokens.current(never)).toBe(tokenOf(1));
  expect(endpoint.asked).toHaveLength(1);
  const [asked] = endpoint.asked;
  expect(asked).toMatchObject({
    method: 'POST',
    url: '/auth/o2/token',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
  });
  expect(JSON.parse(asked?.body ?? '')).toEqual({
    grant_type: 'refresh_token',
    refresh_token: secrets.refreshToken,
    client_id: secrets.clientId,
    client_secret: secrets.clientSecret,
  });
});

test('a token of an hour is renewed a minute before its end, by the clock that was handed in', async () => {
  const clock = new HandClock('2026-01-01T00:00:00Z');
  const endpoint = await tokenEndpoint();
  const tokens = tokensOf(endpoint, clock);
  await tokens.current(never);
  await clock.advance(3_540_000 - 1);
  expect(await tokens.current(never)).toBe(tokenOf(1));
  await clock.advance(1);
  expect(await tokens.current(never)).toBe(tokenOf(2));
});

test('no token is handed out in the last minute or tenth of its life, and none is renewed before', async () => {
  const steps = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 7200 }), steps, async (seconds, waits) => {
      const clock = new HandClock(1_700_000_000_000);
      const birth = new Map<string, number>();
      const send = (): ReturnType<Transport['send']> => {
        const reply = issued(birth.size + 1, seconds);
        birth.set(tokenOf(birth.size + 1), clock.now());
        return Promise.resolve({ status: 200, headers: new Map(), body: Buffer.from(reply.body) });
      };
      const tokens = createAccessTokens({ ...signInAt('https://token.test/'), transport: { send }, clock });
      for (const wait of waits) {
        const held = [...birth].at(-1);
        await clock.advance(wait);
        const token = await tokens.current(never);
        const usable = seconds * 1000 - Math.min(60_000, seconds * 100);
        expect(clock.now() - (birth.get(token) ?? 0)).toBeLessThan(usable);
        if (held !== undefined) expect(token === held[0]).toBe(clock.now() - held[1] < usable);
      }
    }),
  );
});

describe('callers at once', () => {
  test('share one request', async () => {
    const endpoint = await tokenEndpoint();
    const tokens = tokensOf(endpoint);
    const got = await Promise.all(Array.from({ length: 20 }, () => tokens.current(new AbortController().signal)));
    expect(new Set(got)).toEqual(new Set([tokenOf(1)]));
    expect(endpoint.asked).toHaveLength(1);
  });

  test('one that aborts leaves the others their token', async () => {
    const { open, passed } = gate();
    const endpoint = await tokenEndpoint(async (_, number) => {
      await passed;
      return issued(number);
    });
    const tokens = tokensOf(endpoint);
    const stop = new AbortController();
    const first = tokens.current(stop.signal);
    const second = tokens.current(never);
    await until(() => endpoint.asked.length === 1);
    stop.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    open();
    expect(await second).toBe(tokenOf(1));
    expect([endpoint.asked.length, endpoint.abandoned]).toEqual([1, 0]);
  });

  test('when the last has aborted the request is broken off, and who comes then starts anew', async () => {
    const { open, passed } = gate();
    const endpoint = await tokenEndpoint(async (_, number) => {
      if (number === 1) await passed;
      return issued(number);
    });
    const tokens = tokensOf(endpoint);
    const stop = new AbortController();
    const both = [tokens.current(stop.signal), tokens.current(stop.signal)];
    await until(() => endpoint.asked.length === 1);
    stop.abort(new Error('enough'));
    for (const one of both) await expect(one).rejects.toThrow('enough');
    expect(await tokens.current(never)).toBe(tokenOf(2));
    await until(() => endpoint.abandoned === 1);
    open();
  });

  test('share a failure, which is not kept', async () => {
    const refusal: Reply = { status: 400, body: '{"error":"invalid_grant"}' };
    const endpoint = await tokenEndpoint((_, number) => (number === 1 ? refusal : issued(number)));
    const tokens = tokensOf(endpoint);
    const both = await Promise.all([failureOf(tokens.current(never)), failureOf(tokens.current(never))]);
    expect(both[0]).toBe(both[1]);
    expect(await tokens.current(never)).toBe(tokenOf(2));
  });

  test('an aborted signal sends nothing', async () => {
    const endpoint = await tokenEndpoint();
    await expect(tokensOf(endpoint).current(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(endpoint.asked).toHaveLength(0);
  });
});

test('a refused token is thrown away, but only while it is the one that is held', async () => {
  const endpoint = await tokenEndpoint();
  const tokens = tokensOf(endpoint);
  const first = await tokens.current(never);
  tokens.refused('another');
  expect(await tokens.current(never)).toBe(first);
  tokens.refused(first);
  const second = await tokens.current(never);
  expect(second).toBe(tokenOf(2));
  // A second request that was under way with the first token: the new one is good.
  tokens.refused(first);
  expect(await tokens.current(never)).toBe(second);
  expect(endpoint.asked).toHaveLength(2);
});

describe('trying again', () => {
  test.each([429, 500, 503, 408])('status %i is tried again after two seconds, then four', async (status) => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint((_, number) => (number < 3 ? { status, body: '' } : issued(number)));
    expect(await clock.until(tokensOf(endpoint, clock).current(never))).toBe(tokenOf(3));
    expect(clock.now()).toBe(6000);
  });

  test('waits are jittered down to a half', async () => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint((_, number) => (number < 3 ? { status: 500, body: '' } : issued(number)));
    const policy = policyOf(clock, 0);
    const tokens = createAccessTokens({ ...signInAt(endpoint.url), transport: transport(), clock, policy });
    await clock.until(tokens.current(never));
    expect(clock.now()).toBe(2000);
  });

  test('Retry-After is honoured, as seconds or as a date', async () => {
    for (const [asked, waited] of [
      ['7', 9000],
      ['Thu, 01 Jan 1970 00:01:30 GMT', 92_000],
      ['soon', 2000],
    ] as const) {
      const clock = new HandClock();
      const busy: Reply = { status: 429, headers: { 'retry-after': asked }, body: '' };
      const endpoint = await tokenEndpoint((_, number) => (number === 1 ? busy : issued(number)));
      await clock.until(tokensOf(endpoint, clock).current(never));
      expect(clock.now()).toBe(waited);
    }
  });

  test('ends after the seven retries that data gets', async () => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint(() => ({ status: 503, body: '' }));
    const error = await failureOf(clock.until(tokensOf(endpoint, clock).current(never)));
    expect(error).toMatchObject({ code: 'SIGN_IN_UNREACHABLE', retryable: true, exitCode: 1, status: 503 });
    expect(error.message).toMatch(
      /^expected an access token for the account my-shop from 127\.0\.0\.1:\d+, got status 503/,
    );
    expect(error.message).toMatch(/try again later\. Tried 8 times\.$/);
    expect(endpoint.asked).toHaveLength(8);
    expect(clock.now()).toBe(2000 + 4000 + 8000 + 16_000 + 32_000 + 60_000 + 60_000);
  });

  test('a fault of some minutes is outlasted, and long waits are reported', async () => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint((_, number) => (number < 8 ? { status: 503, body: '' } : issued(number)));
    const waits: string[] = [];
    const onWait = (operation: string, { error }: FailedAttempt) => waits.push(`${operation}: ${error.message}`);
    const policy = policyOf(clock);
    const tokens = createAccessTokens({ ...signInAt(endpoint.url), transport: transport(), clock, policy, onWait });
    expect(await clock.until(tokens.current(never))).toBe(tokenOf(8));
    expect(waits).toHaveLength(7);
    expect(waits[0]).toMatch(/^sign-in: expected an access token .* got status 503/);
  });

  test('without a policy a token is requested once', async () => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint(() => ({ status: 503, body: '' }));
    const tokens = createAccessTokens({ ...signInAt(endpoint.url), transport: transport(), clock });
    expect((await failureOf(tokens.current(never))).status).toBe(503);
    expect(endpoint.asked).toHaveLength(1);
  });

  test('a connection that is refused is tried again twice: the address is probably wrong', async () => {
    const clock = new HandClock();
    const policy = policyOf(clock);
    const tokens = createAccessTokens({ ...signInAt('http://127.0.0.1:1/t'), transport: transport(), clock, policy });
    const error = await failureOf(clock.until(tokens.current(never)));
    expect(error.code).toBe('SIGN_IN_UNREACHABLE');
    expect(error.message).toMatch(/it refuses connections; check the token endpoint/);
    expect(error.message).toMatch(/Tried 3 times\.$/);
    expect(clock.now()).toBe(3000);
  });

  test('an abort ends the wait', async () => {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint(() => ({ status: 503, body: '' }));
    const stop = new AbortController();
    const token = tokensOf(endpoint, clock).current(stop.signal);
    await until(() => clock.sleeping === 1);
    stop.abort(new Error('enough'));
    await expect(token).rejects.toThrow('enough');
    await settled();
    expect(clock.sleeping).toBe(0);
  });
});

describe('refusals', () => {
  test.each([
    [400, 'invalid_grant', /check the refresh token/],
    [401, 'invalid_client', /check the client id and the client secret/],
    [400, 'unauthorized_client', /the application/],
    [403, 'something new', /check client id, client secret and refresh token/],
    [404, undefined, /the token endpoint/],
  ])('status %i, %s, ends at once and says what to check', async (status, error, message) => {
    const endpoint = await tokenEndpoint(() => ({ status, body: JSON.stringify({ error }) }));
    const failure = await failureOf(tokensOf(endpoint).current(never));
    expect(failure).toMatchObject({ code: 'SIGN_IN_REFUSED', retryable: false, exitCode: 1, status });
    expect(failure.message).toMatch(message);
    expect(endpoint.asked).toHaveLength(1);
  });

  test('a redirect is not followed: the secrets stay here', async () => {
    const elsewhere = await tokenEndpoint();
    for (const status of [301, 302, 307, 308]) {
      const redirect = { status, headers: { location: elsewhere.url }, body: '' };
      const error = await failureOf(tokensOf(await tokenEndpoint(() => redirect)).current(never));
      expect(error.message).toMatch(/redirects are not followed/);
    }
    expect(elsewhere.asked).toEqual([]);
  });
});

test.each([
  ['a web page', '<html>Sign in to the proxy</html>'],
  ['nothing', ''],
  ['JSON that is cut off', '{"access_token":"x"'],
  ['another shape', '[1]'],
  ['a life of nothing', '{"access_token":"x","expires_in":0}'],
  ['a life of nothing as text', '{"access_token":"x","expires_in":"0"}'],
  ['a life in words', '{"access_token":"x","expires_in":"an hour"}'],
  ['a life that is no number', '{"access_token":"x","expires_in":[3600]}'],
  ['no token', '{"access_token":"","expires_in":3600}'],
  ['a token that would break the header', '{"access_token":"x\\r\\nhost: y","expires_in":3600}'],
])('%s is no token', async (_what, body) => {
  const clock = new HandClock();
  const endpoint = await tokenEndpoint(() => ({ body }));
  const error = await failureOf(clock.until(tokensOf(endpoint, clock).current(never)));
  expect(error.code).toBe('SIGN_IN_UNREACHABLE');
  expect(error.message).toMatch(/got an answer without a valid `access_token`, or with an invalid `expires_in`/);
});

test.each([
  ['text', '"expires_in":"1800",', 1_740_000],
  ['nothing, which counts as an hour', '', 3_540_000],
  ['null', '"expires_in":null,', 3_540_000],
])('a life that is %s is accepted', async (_what, life, usableMs) => {
  const clock = new HandClock();
  const endpoint = await tokenEndpoint((_, number) => ({ body: `{${life}"access_token":"token-${number}"}` }));
  const tokens = tokensOf(endpoint, clock);
  await tokens.current(never);
  await clock.advance(usableMs - 1);
  expect(await tokens.current(never)).toBe('token-1');
  await clock.advance(1);
  expect(await tokens.current(never)).toBe('token-2');
});

test('an endpoint that quotes what it was sent gets nothing of it into an error', async () => {
  for (const status of [200, 302, 400, 401, 403, 429, 500]) {
    const clock = new HandClock();
    const endpoint = await tokenEndpoint(({ body }) => ({
      status,
      headers: { 'x-amzn-requestid': secrets.clientId, location: encodeURI(`http://x/${body}`) },
      body: JSON.stringify({ error: secrets.clientSecret, error_description: body, message: body }),
    }));
    const error = await failureOf(clock.until(tokensOf(endpoint, clock).current(never)));
    const everything = `${inspect(error, { depth: 20, showHidden: true })} ${error.details ?? ''} ${error.stack ?? ''}`;
    for (const secret of Object.values(secrets)) expect(everything).not.toContain(secret);
  }
});
