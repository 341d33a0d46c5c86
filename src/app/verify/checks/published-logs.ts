import type { CheckDefinition } from '../common/check.js';

/** Found by `catalog-chain`, whose walk reads the commits once for both. */
export const publishedLogsCheck: CheckDefinition = {
  name: 'published-logs',
  about: 'each Delta log has what the catalog has',
  counts: 'versions',
  isOfCatalog: true,
  remedy: () => ({ kind: 'repair' }),
};
