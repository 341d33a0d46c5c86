import { systemCode, usageError } from './errors.js';

/**
 * Imports an optional package, or a module that imports it.
 *
 * @param commands those that need it, for the error
 * @throws LedgerlakeError USAGE where it isn't installed
 */
export async function optionalPackage<T>(name: string, commands: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw usageError(`expected the package ${name} for ${commands}, got none; run npm install --include=optional`);
  }
}
