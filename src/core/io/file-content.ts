import { hash } from 'node:crypto';

/** Size and SHA-256 of a file's bytes. */
export interface FileContent {
  readonly size: number;
  readonly sha256: string;
}

export function contentOf(bytes: Uint8Array): FileContent {
  return { size: bytes.length, sha256: hash('sha256', bytes) };
}
