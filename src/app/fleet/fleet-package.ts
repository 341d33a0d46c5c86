import { usageError } from '../../core/errors.js';

/**
 * A package that only fleets need, and that may have been left out of an installation.
 *
 * @throws LedgerlakeError USAGE where it isn't there
 */
export async function fleetPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw usageError(
      `expected the package ${name}, which \`enqueue\` and \`worker\` need and which isn't installed: npm install --include=optional`,
    );
  }
}
