import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OperationName } from './counts.js';

/** Signs the tokens of one service. Left out: a random key, so that the tokens end with the process. */
type TokenKey = string | Uint8Array | undefined;

const signatureBytes = 16;

/** Texts as opaque tokens (letters, digits, `-` and `_`), signed, so that no other token is taken; none of them is stored. */
class Signer {
  readonly #key: Uint8Array;

  /** `label` names the layout of the texts: a service with another one refuses these tokens instead of misreading them. */
  constructor(secret: string | Uint8Array, label: string) {
    this.#key = createHmac('sha256', secret).update(label).digest();
  }

  sign(text: Uint8Array): string {
    return Buffer.concat([this.#signature(text), text]).toString('base64url');
  }

  /** The text of a token; undefined where it isn't one that was signed with this key. */
  read(token: string): Buffer | undefined {
    const bytes = Buffer.from(token, 'base64url');
    // The decoder skips what it doesn't know and ignores spare bits: only the one spelling that was issued is the token.
    if (bytes.length <= signatureBytes || bytes.toString('base64url') !== token) return undefined;
    const text = bytes.subarray(signatureBytes);
    return timingSafeEqual(bytes.subarray(0, signatureBytes), this.#signature(text)) ? text : undefined;
  }

  #signature(text: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, signatureBytes);
  }
}

/** What a chain of pages keeps of its first request. */
export interface Chain {
  readonly operation: OperationName;
  /** The path parameter, decoded. */
  readonly subject: string | undefined;
  /** The bounds as the first request gave them, milliseconds since 1970; what it left out follows from `asOf`. */
  readonly after: number | undefined;
  readonly before: number | undefined;
  readonly pageSize: number;
  /** When the first request came, milliseconds since 1970. */
  readonly asOf: number;
  /** All parameters of the first request as they came, where each later one must repeat them. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A position in a chain of pages: what a NextToken encodes. */
export interface ChainPosition {
  readonly chain: Chain;
  /** Where the ledger goes on; undefined: at the beginning. */
  readonly cursor: string | undefined;
  /** How many pages of the chain were delivered before it, and how many results they had. */
  readonly pages: number;
  readonly results: number;
  /** When the token was issued, milliseconds since 1970. */
  readonly issuedAt: number;
}

/** NextTokens (specification, section 2): stateless, so two services with the same key take each other's tokens. */
export class NextTokens {
  readonly #signer: Signer;

  constructor(secret: TokenKey = randomBytes(32)) {
    this.#signer = new Signer(secret, 'NextToken, layout 3');
  }

  issue(position: ChainPosition): string {
    return this.#signer.sign(Buffer.from(JSON.stringify(position)));
  }

  /** The position that a token encodes, or undefined where it isn't one that was issued under this key. */
  read(token: string): ChainPosition | undefined {
    const text = this.#signer.read(token);
    return text && (JSON.parse(text.toString('utf8')) as ChainPosition);
  }
}

const nonceBytes = 16;
const accountBytes = 8;
/** Milliseconds since 1970 fit a double exactly. */
const instantBytes = 8;
const start = 'Atza|';

/** Access tokens as the sign-in issues them. */
export class IssuedAccessTokens {
  readonly #signer: Signer;
  readonly #lifeMs: number;
  readonly #accountKey: Uint8Array;

  constructor(lifeMs: number, secret: TokenKey = randomBytes(32)) {
    this.#signer = new Signer(secret, 'access token, layout 2');
    this.#accountKey = createHmac('sha256', secret).update('account').digest();
    this.#lifeMs = lifeMs;
  }

  /** A new token of the account with this refresh token. `now`: milliseconds since 1970. */
  issue(now: number, refreshToken: string): string {
    const text = Buffer.alloc(instantBytes + accountBytes + nonceBytes);
    text.writeDoubleBE(now + this.#lifeMs, 0);
    createHmac('sha256', this.#accountKey).update(refreshToken).digest().copy(text, instantBytes, 0, accountBytes);
    randomBytes(nonceBytes).copy(text, instantBytes + accountBytes);
    return start + this.#signer.sign(text);
  }

  check(token: string, now: number): 'valid' | 'expired' | 'unknown' {
    const text = token.startsWith(start) ? this.#signer.read(token.slice(start.length)) : undefined;
    if (text === undefined) return 'unknown';
    return now < text.readDoubleBE(0) ? 'valid' : 'expired';
  }

  /** The same for all tokens of one refresh token. Only for a token that was checked. */
  accountOf(token: string): string {
    const text = this.#signer.read(token.slice(start.length));
    return text?.subarray(instantBytes, instantBytes + accountBytes).toString('base64url') ?? '';
  }
}
