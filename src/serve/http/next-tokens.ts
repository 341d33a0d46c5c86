import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OperationName } from '../../sources/finances/api-v0/operations.js';

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
}

/** A place in a chain of pages: what a NextToken stands for. */
export interface Place {
  readonly chain: Chain;
  /** Where the ledger goes on; undefined: at the beginning. */
  readonly cursor: string | undefined;
  /** How many pages of the chain were delivered before it. */
  readonly pages: number;
  /** How many results they held. */
  readonly results: number;
  /** When the token was issued, milliseconds since 1970. */
  readonly issuedAt: number;
}

type Fields = [
  OperationName,
  string | null,
  number | null,
  number | null,
  Chain['pageSize'],
  Chain['asOf'],
  string | null,
  Place['pages'],
  Place['results'],
  Place['issuedAt'],
];

const signatureBytes = 16;

/**
 * NextTokens (specification, section 2): opaque, stateless, and signed, so that one which this service didn't issue, or
 * that was changed by a single bit, isn't taken. Two services with the same key take each other's tokens.
 */
export class Tokens {
  readonly #key: Uint8Array;

  /** `secret` left out: a random one, so that the tokens end with the process. */
  constructor(secret: string | Uint8Array = randomBytes(32)) {
    // The label names the layout of the fields: a service with another one refuses these tokens instead of misreading them.
    this.#key = createHmac('sha256', secret).update('NextToken, layout 2').digest();
  }

  #signature(text: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, signatureBytes);
  }

  /** The token of a place: letters, digits, `-` and `_`. */
  issue({ chain, cursor, pages, results, issuedAt }: Place): string {
    const fields: Fields = [
      chain.operation,
      chain.subject ?? null,
      chain.after ?? null,
      chain.before ?? null,
      chain.pageSize,
      chain.asOf,
      cursor ?? null,
      pages,
      results,
      issuedAt,
    ];
    const text = Buffer.from(JSON.stringify(fields));
    return Buffer.concat([this.#signature(text), text]).toString('base64url');
  }

  /** The place a token stands for, or undefined where it isn't one that was issued under this key. */
  read(token: string): Place | undefined {
    const bytes = Buffer.from(token, 'base64url');
    // The decoder skips what it doesn't know and ignores spare bits: only the one spelling that was issued is the token.
    if (bytes.length <= signatureBytes || bytes.toString('base64url') !== token) return undefined;
    const text = bytes.subarray(signatureBytes);
    if (!timingSafeEqual(bytes.subarray(0, signatureBytes), this.#signature(text))) return undefined;
    const fields = JSON.parse(text.toString('utf8')) as Fields;
    const [operation, subject, after, before, pageSize, asOf, cursor, pages, results, issuedAt] = fields;
    return {
      chain: {
        operation,
        subject: subject ?? undefined,
        after: after ?? undefined,
        before: before ?? undefined,
        pageSize,
        asOf,
      },
      cursor: cursor ?? undefined,
      pages,
      results,
      issuedAt,
    };
  }
}
