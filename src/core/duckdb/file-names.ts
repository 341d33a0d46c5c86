import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Files and folders whose names begin as typed, as they would be typed: folders end in a slash. None where there is no folder. */
export async function fileNames(typed: string): Promise<readonly string[]> {
  const end = typed.lastIndexOf('/') + 1;
  const [folder, begun] = [typed.slice(0, end), typed.slice(end)];
  const entries = await readdir(resolve(folder), { withFileTypes: true }).catch(() => []);
  return entries
    .filter(({ name }) => name.startsWith(begun) && (begun !== '' || !name.startsWith('.')))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .toSorted();
}
