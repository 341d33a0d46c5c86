/** What S3 encrypts objects with, by its own names. */
export const sseAlgorithms = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const;

/** The encryption that every new object of a lake on S3 asks for. */
export interface S3Encryption {
  readonly sse: (typeof sseAlgorithms)[number];
  /** Id or ARN of a key of KMS; undefined: the account's default. */
  readonly kmsKey?: string | undefined;
}
