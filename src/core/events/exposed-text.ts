/** What is said of a file with secrets that others can read. */
export function exposedText(file: string): string {
  return `${file} holds secrets, and everybody on this machine can read it: chmod 600 it`;
}
