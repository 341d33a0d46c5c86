/** What is said of a damaged checkpoint that is passed over. */
export function damagedCheckpointText(file: string, reason: string): string {
  return `the checkpoint ${file} is damaged (${reason}): the commits were read instead; \`ledgerlake compact\` writes a new one`;
}
