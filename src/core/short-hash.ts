import { hash } from 'node:crypto';

/** The first 64 bits of a text's SHA-256, in hex: for names of files and folders. */
export function shortHash(text: string): string {
  return hash('sha256', text).slice(0, 16);
}
