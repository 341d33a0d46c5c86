import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const signatureBytes = 16;
const nonceBytes = 16;
const accountBytes = 8;
/** Milliseconds since 1970 fit a double exactly. */
const instantBytes = 8;
const start = 'Atza|';

/** Access tokens as the sign-in gives them out: opaque, signed, and nothing is kept about them. */
export class AccessTokens {
  readonly #key: Uint8Array;
  readonly #lifeMs: number;
  readonly #accountKey: Uint8Array;

  /** `secret` left out: a random one, so that the tokens end with the process. */
  constructor(lifeMs: number, secret: string | Uint8Array = randomBytes(32)) {
    this.#key = createHmac('sha256', secret).update('access token, layout 2').digest();
    this.#accountKey = createHmac('sha256', secret).update('account').digest();
    this.#lifeMs = lifeMs;
  }

  /** A new token of whoever has this refresh token. `now`: milliseconds since 1970. */
  issue(now: number, refreshToken: string): string {
    const text = Buffer.alloc(instantBytes + accountBytes + nonceBytes);
    text.writeDoubleBE(now + this.#lifeMs, 0);
    createHmac('sha256', this.#accountKey).update(refreshToken).digest().copy(text, instantBytes, 0, accountBytes);
    randomBytes(nonceBytes).copy(text, instantBytes + accountBytes);
    return start + Buffer.concat([this.#signature(text), text]).toString('base64url');
  }

  check(token: string, now: number): 'valid' | 'expired' | 'unknown' {
    const bytes = Buffer.from(token.slice(start.length), 'base64url');
    // Only the one spelling that was issued is the token: the decoder takes others too.
    const isOne = bytes.length === signatureBytes + instantBytes + accountBytes + nonceBytes;
    if (!isOne || start + bytes.toString('base64url') !== token) return 'unknown';
    const text = bytes.subarray(signatureBytes);
    if (!timingSafeEqual(bytes.subarray(0, signatureBytes), this.#signature(text))) return 'unknown';
    return now < text.readDoubleBE(0) ? 'valid' : 'expired';
  }

  /** Whose token it is: the same for all tokens of one refresh token. Only for one that was checked. */
  accountOf(token: string): string {
    const from = signatureBytes + instantBytes;
    return Buffer.from(token.slice(start.length), 'base64url')
      .subarray(from, from + accountBytes)
      .toString('base64url');
  }

  #signature(text: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, signatureBytes);
  }
}
