import { systemCode } from '../errors.js';
import type { Proxy } from './proxies.js';

const proxyCode = 'PROXY_FAILED';

/** The error of a proxy that gives no connection. Its text names the proxy, without user and password. */
export function proxyFault({ address: { host }, variable }: Proxy, what: string, cause?: unknown): Error {
  return Object.assign(new Error(`the proxy ${host} (${variable}) ${what}`, { cause }), { code: proxyCode });
}

/** Node's codes of certificates (OpenSSL's X509_V_ERR_…). */
const certificateCode =
  /^(?:UNABLE_TO_(?:GET|VERIFY|DECRYPT|DECODE)_|DEPTH_ZERO_|SELF_SIGNED_|CERT_|CRL_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/;

/** Whether a connection failed because a certificate isn't trusted or doesn't fit: it fails again until somebody changes that. */
export function isCertificateFault(error: unknown): boolean {
  return certificateCode.test(faultCode(error));
}

/** The description of a connection that a proxy refused, or whose certificate isn't trusted; undefined for any other error. */
export function connectionFaultOf(error: unknown): { readonly what: string; readonly todo: string } | undefined {
  const code = faultCode(error);
  if (code === proxyCode && error instanceof Error) {
    return { what: error.message, todo: 'check the proxy, or name this host in NO_PROXY' };
  }
  if (!certificateCode.test(code)) return undefined;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return {
      what: `its certificate is not valid now (${code})`,
      todo: "check this machine's clock and the certificate",
    };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') {
    return { what: `its certificate is for another host (${code})`, todo: 'check the endpoint' };
  }
  return {
    what: `its certificate is not trusted (${code})`,
    todo: 'where the network or the server has its own certificate authority, name its file (PEM) in NODE_EXTRA_CA_CERTS',
  };
}

function faultCode(error: unknown): string {
  return systemCode(error) ?? '';
}
