import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Every page of documentation: those of `docs/`, and those beside the README. */
export const pages: readonly string[] = [...(await markdownOf('.')), ...(await markdownOf('docs'))];

async function markdownOf(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
}
