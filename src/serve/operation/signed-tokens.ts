import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OperationName } from '../../sources/finances/finances-apis.js';

/** The key that signs a server's tokens. Left out: random, so that tokens are valid for one process only. */
export type TokenKey = string | Uint8Array | undefined;

const signatureBytes = 16;

/**
 * Turns texts into opaque tokens (letters, digits, `-` and `_`) whose signature is checked on reading; no token is
 * stored.
 */
export class Signer {
  readonly #key: Uint8Array;

  /**
   * @param label name of the texts' layout: a server with another layout refuses these tokens instead of misreading
   * them
   */
  constructor(label: string, secret: TokenKey = randomBytes(32)) {
    this.#key = createHmac('sha256', secret).update(label).digest();
  }

  sign(text: Uint8Array): string {
    return Buffer.concat([this.#signature(text), text]).toString('base64url');
  }

  /** The text of a token; undefined where the token wasn't signed with this key. */
  read(token: string): Buffer | undefined {
    const bytes = Buffer.from(token, 'base64url');
    // The decoder skips unknown characters and ignores spare bits: only the exact spelling that was issued is accepted.
    if (bytes.length <= signatureBytes || bytes.toString('base64url') !== token) return undefined;
    const text = bytes.subarray(signatureBytes);
    return timingSafeEqual(bytes.subarray(0, signatureBytes), this.#signature(text)) ? text : undefined;
  }

  #signature(text: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, signatureBytes);
  }
}

/** The first request of a chain of pages, as its tokens keep it. */
export interface Chain {
  readonly operation: OperationName;
  /** The path parameter, decoded. */
  readonly subject: string | undefined;
  /** Bounds given by the first request, milliseconds since 1970; defaults of missing ones follow from `asOf`. */
  readonly after: number | undefined;
  readonly before: number | undefined;
  readonly pageSize: number;
  /** Arrival of the first request, milliseconds since 1970. */
  readonly asOf: number;
  /** Parameters of the first request as received, for an API in which later requests must repeat them. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A position in a chain of pages, which a NextToken encodes. */
export interface ChainPosition {
  readonly chain: Chain;
  /** The backend's cursor; undefined: the start. */
  readonly cursor: string | undefined;
  /** Number of pages of the chain that precede it. */
  readonly pages: number;
  /** Number of results on these pages. */
  readonly results: number;
  /** When the token was issued, milliseconds since 1970. */
  readonly issuedAt: number;
}

/**
 * Issues and reads NextTokens (specification, section 2). They are stateless: servers with the same key accept each
 * other's.
 */
export class NextTokens {
  readonly #signer: Signer;

  constructor(secret?: TokenKey) {
    this.#signer = new Signer('NextToken, layout 3', secret);
  }

  issue(position: ChainPosition): string {
    return this.#signer.sign(Buffer.from(JSON.stringify(position)));
  }

  /** The position that a token encodes; undefined where the token wasn't issued with this key. */
  read(token: string): ChainPosition | undefined {
    const text = this.#signer.read(token);
    return text && (JSON.parse(text.toString('utf8')) as ChainPosition);
  }
}

const nonceBytes = 16;
const accountBytes = 8;
/** Milliseconds since 1970 as a double, which is exact. */
const instantBytes = 8;
const accessTokenPrefix = 'Atza|';

/** Issues and checks the access tokens of the sign-in. */
export class IssuedAccessTokens {
  readonly #signer: Signer;
  readonly #lifeMs: number;
  readonly #accountKey: Uint8Array;

  constructor(lifeMs: number, secret: TokenKey = randomBytes(32)) {
    this.#signer = new Signer('access token, layout 2', secret);
    this.#accountKey = createHmac('sha256', secret).update('account').digest();
    this.#lifeMs = lifeMs;
  }

  /** A new token for the account of this refresh token. `now`: milliseconds since 1970. */
  issue(now: number, refreshToken: string): string {
    const text = Buffer.alloc(instantBytes + accountBytes + nonceBytes);
    text.writeDoubleBE(now + this.#lifeMs, 0);
    createHmac('sha256', this.#accountKey).update(refreshToken).digest().copy(text, instantBytes, 0, accountBytes);
    randomBytes(nonceBytes).copy(text, instantBytes + accountBytes);
    return accessTokenPrefix + this.#signer.sign(text);
  }

  check(token: string, now: number): 'valid' | 'expired' | 'unknown' {
    const text = token.startsWith(accessTokenPrefix)
      ? this.#signer.read(token.slice(accessTokenPrefix.length))
      : undefined;
    if (text === undefined) return 'unknown';
    return now < text.readDoubleBE(0) ? 'valid' : 'expired';
  }

  /** The account of a checked token: the same for all tokens of one refresh token. */
  accountOf(token: string): string {
    const text = this.#signer.read(token.slice(accessTokenPrefix.length));
    return text?.subarray(instantBytes, instantBytes + accountBytes).toString('base64url') ?? '';
  }
}
