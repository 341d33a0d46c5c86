import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProxies } from '../../../src/core/connections/proxies.js';
import { LedgerlakeError } from '../../../src/core/errors.js';

const proxyFor = (environment: Record<string, string>, url: string): string | undefined => {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === 'https:';
  const target = { isSecure, hostname, port: Number(port) || (isSecure ? 443 : 80) };
  return readProxies(environment)(target)?.address.host;
};

describe('variables', () => {
  test.each([
    [{}, undefined, undefined],
    [{ HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2' }, 'secure:1', 'plain:2'],
    [{ https_proxy: 'http://secure:1', http_proxy: 'plain:2' }, 'secure:1', 'plain:2'],
    [{ https_proxy: 'http://lower:1', HTTPS_PROXY: 'http://upper:2' }, 'lower:1', undefined],
    [{ https_proxy: '', HTTPS_PROXY: 'http://upper:2' }, 'upper:2', undefined],
    [{ HTTP_PROXY: 'http://plain:2' }, 'plain:2', 'plain:2'],
  ])('%j', (environment, secure, plain) => {
    expect(proxyFor(environment, 'https://api.example/')).toBe(secure);
    expect(proxyFor(environment, 'http://api.example/')).toBe(plain);
  });

  test.each(['socks5://proxy:1', 'http://', 'http://a:b:c', 'http://%zz:secret-word@proxy:1'])(
    'refuse %s, without repeating it',
    (text) => {
      const read = () => readProxies({ HTTPS_PROXY: text });
      expect(read).toThrow(LedgerlakeError);
      expect(read).toThrow(/HTTPS_PROXY/);
      expect(read).not.toThrow(/secret-word|socks5/);
    },
  );
});

describe('NO_PROXY', () => {
  const isDirect = (exceptions: string, url: string): boolean =>
    proxyFor({ HTTP_PROXY: 'http://proxy:1', NO_PROXY: exceptions }, url) === undefined;

  test.each([
    ['api.example', 'https://api.example/', true],
    ['example', 'https://api.example/', true],
    ['.example', 'https://api.example/', true],
    ['*.example', 'https://api.example/', true],
    ['API.Example', 'https://api.example/', true],
    ['other, api.example', 'https://api.example/', true],
    ['ample', 'https://api.example/', false],
    ['api.example:443', 'https://api.example/', true],
    ['api.example:8443', 'https://api.example/', false],
    ['*', 'https://api.example/', true],
    ['other,*', 'https://api.example/', true],
    ['10.0.0.0/8', 'http://10.1.2.3:9000/', true],
    ['10.0.0.0/8', 'http://11.1.2.3:9000/', false],
    ['10.1.2.3', 'http://10.1.2.3:9000/', true],
    ['fd00::/8', 'http://[fd00::7]:9000/', true],
    ['[fd00::7]', 'http://[fd00::7]:9000/', true],
    ['fd00::8', 'http://[fd00::7]:9000/', false],
    ['10.0.0.0/99', 'http://10.1.2.3/', false],
    ['', 'http://localhost:8080/', true],
    ['', 'http://127.0.0.1:8080/', true],
    ['', 'http://127.9.9.9:8080/', true],
    ['', 'http://[::1]:8080/', true],
    ['', 'http://localhost.example/', false],
  ])('%j: %s is direct: %s', (exceptions, url, direct) => {
    expect(isDirect(exceptions, url)).toBe(direct);
  });

  test('any text is read, and exempts the hosts that it names', () => {
    fc.assert(
      fc.property(fc.string(), fc.domain(), (text, host) => {
        expect(isDirect(`${text},${host}`, `https://${host}/`)).toBe(true);
      }),
    );
  });
});
