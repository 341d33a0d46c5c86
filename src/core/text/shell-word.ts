/** A word quoted for a POSIX shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('=') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
